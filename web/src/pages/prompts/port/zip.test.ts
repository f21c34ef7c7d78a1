import { expect, test } from "vitest";
import { zipOf } from "./zip";

/** The files of an archive, read from its directory at the end. */
async function filesOf(archive: Blob) {
  const view = new DataView(await archive.arrayBuffer());
  const text = (from: number, length: number) => new TextDecoder().decode(new Uint8Array(view.buffer, from, length));
  const end = view.byteLength - 22;
  expect(view.getUint32(end, true)).toBe(0x06054b50);
  const files = [];
  let at = view.getUint32(end + 16, true);
  expect(at + view.getUint32(end + 12, true)).toBe(end);
  for (let n = view.getUint16(end + 10, true); n > 0; n--) {
    expect(view.getUint32(at, true)).toBe(0x02014b50);
    const [sum, size, name, body] = [16, 24, 28, 42].map((offset) =>
      offset === 28 ? view.getUint16(at + offset, true) : view.getUint32(at + offset, true),
    ) as [number, number, number, number];
    expect(view.getUint32(body, true)).toBe(0x04034b50);
    expect([view.getUint32(body + 14, true), view.getUint32(body + 22, true), view.getUint16(body + 26, true)]).toEqual([sum, size, name]);
    expect(text(body + 30, name)).toBe(text(at + 46, name));
    files.push({ path: text(at + 46, name), text: text(body + 30 + name, size), sum: sum.toString(16) });
    at += 46 + name;
  }
  return files;
}

test("an archive has its files, their sizes and their sums", async () => {
  const files = [
    { path: "support/änderung.prompt", text: "123456789" },
    { path: "empty.txt", text: "" },
    { path: "a.txt", text: "Hi {{name}} – ä\n" },
  ];
  const read = await filesOf(zipOf(files));
  expect(read.map(({ path, text }) => ({ path, text }))).toEqual(files);
  expect(read.slice(0, 2).map((f) => f.sum)).toEqual(["cbf43926", "0"]); // the check value of CRC-32
});
