/** A file of an archive. */
export interface ZipFile {
  path: string;
  text: string;
}

const table = Uint32Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value >>> 0;
});

function crc(data: Uint8Array): number {
  let value = 0xffffffff;
  for (const byte of data) value = (value >>> 8) ^ (table[(value ^ byte) & 0xff] ?? 0);
  return (value ^ 0xffffffff) >>> 0;
}

const utf8Names = 0x0800;
const day1980 = 0x21; // the first day that the format knows; exports have no times

/** Writes numbers of 2 and 4 bytes, the lowest first. */
function numbers(...all: readonly [bytes: 2 | 4, value: number][]): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(all.reduce((sum, [bytes]) => sum + bytes, 0)));
  let at = 0;
  for (const [bytes, value] of all) {
    if (bytes === 2) view.setUint16(at, value, true);
    else view.setUint32(at, value, true);
    at += bytes;
  }
  return new Uint8Array(view.buffer);
}

/** A ZIP archive of texts, without compression. */
export function zipOf(files: readonly ZipFile[]): Blob {
  const encoder = new TextEncoder();
  const bodies: Uint8Array<ArrayBuffer>[] = [];
  const entries: Uint8Array<ArrayBuffer>[] = [];
  let at = 0;
  for (const { path, text } of files) {
    const name = encoder.encode(path);
    const data = encoder.encode(text);
    const about = numbers(
      [2, 20],
      [2, utf8Names],
      [2, 0],
      [2, 0],
      [2, day1980],
      [4, crc(data)],
      [4, data.length],
      [4, data.length],
      [2, name.length],
      [2, 0],
    );
    const head = numbers([4, 0x04034b50]);
    entries.push(numbers([4, 0x02014b50], [2, 20]), about, numbers([2, 0], [2, 0], [2, 0], [4, 0], [4, at]), name);
    bodies.push(head, about, name, data);
    at += head.length + about.length + name.length + data.length;
  }
  const size = entries.reduce((sum, part) => sum + part.length, 0);
  const end = numbers([4, 0x06054b50], [2, 0], [2, 0], [2, files.length], [2, files.length], [4, size], [4, at], [2, 0]);
  return new Blob([...bodies, ...entries, end], { type: "application/zip" });
}
