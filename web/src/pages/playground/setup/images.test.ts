import { expect, test } from "vitest";
import { bytesOfURL, dataURL, maxImageBytes, readImage } from "./images";

test("a data URL has the bytes of the file", () => {
  const bytes = Uint8Array.from({ length: 20_000 }, (_, i) => i % 256);
  const url = dataURL("image/png", bytes);
  expect(url.startsWith("data:image/png;base64,")).toBe(true);
  expect(bytesOfURL(url)).toEqual({ type: "image/png", bytes });
  expect(bytesOfURL("https://example.com/a.png")).toBeNull();
  expect(bytesOfURL("data:text/html;base64,AAAA")).toBeNull();
  expect(bytesOfURL("data:image/png;base64,A")).toBeNull();
});

test("files that are no images, or too large, say so", async () => {
  expect(await readImage(new File(["x"], "a.svg", { type: "image/svg+xml" }))).toEqual({ problem: "a.svg is no PNG, JPEG, GIF or WebP" });
  const large = new File([new Uint8Array(maxImageBytes + 1)], "b.png", { type: "image/png" });
  expect(await readImage(large)).toEqual({ problem: "b.png is larger than 1.5 MB" });
  expect(await readImage(new File(["x"], "c.png", { type: "image/png" }))).toEqual({ url: "data:image/png;base64,eA==" });
});
