import { deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

interface Image {
  width: number;
  height: number;
  pixels: Uint32Array; // 0xrrggbb
}

/** A PNG of Chromium (8 bits per channel, not interlaced) with at most 256 colours: a third of the size, and the same to the eye. */
export function toPalette(png: Buffer): Buffer {
  const image = decode(png);
  const colors = paletteOf(image.pixels);
  const index = nearest(colors);
  const rows = Buffer.alloc((image.width + 1) * image.height); // each row begins with its filter, 0 for none
  image.pixels.forEach((color, i) => {
    rows[i + Math.floor(i / image.width) + 1] = index(color);
  });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(image.width, 0);
  header.writeUInt32BE(image.height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const palette = Buffer.from(colors.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]));
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("PLTE", palette),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function decode(png: Buffer): Image {
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12) {
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const [width, height, channels] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25] === 6 ? 4 : 3];
  const raw = inflateSync(Buffer.concat(data));
  const stride = width * channels;
  const pixels = new Uint32Array(width * height);
  let above = new Uint8Array(stride);
  for (let y = 0; y < height; y++) {
    const row = new Uint8Array(raw.subarray(y * (stride + 1) + 1, (y + 1) * (stride + 1)));
    unfilter(row, above, raw[y * (stride + 1)] ?? 0, channels);
    for (let x = 0; x < width; x++) {
      const at = x * channels;
      pixels[y * width + x] = ((row[at] ?? 0) << 16) | ((row[at + 1] ?? 0) << 8) | (row[at + 2] ?? 0);
    }
    above = row;
  }
  return { width, height, pixels };
}

/** Undoes the filter of a row in its place. */
function unfilter(row: Uint8Array, above: Uint8Array, filter: number, step: number): void {
  for (let i = 0; i < row.length; i++) {
    const left = i >= step ? (row[i - step] ?? 0) : 0;
    const up = above[i] ?? 0;
    const corner = i >= step ? (above[i - step] ?? 0) : 0;
    const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
    row[i] = (row[i] ?? 0) + predicted;
  }
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** The most frequent colours. Rare ones take part only if no chosen one is near, so that small coloured marks keep their hue. */
function paletteOf(pixels: Uint32Array): number[] {
  const counts = new Map<number, number>();
  for (const color of pixels) counts.set(color, (counts.get(color) ?? 0) + 1);
  const byCount = [...counts].sort((a, b) => b[1] - a[1]).map(([color]) => color);
  const chosen: number[] = [];
  for (const least of [300, 30, 0]) {
    for (const color of byCount) {
      if (chosen.length === 256) return chosen;
      if (chosen.every((c) => distance(c, color) > least)) chosen.push(color);
    }
  }
  return chosen;
}

function distance(a: number, b: number): number {
  const [r, g, blue] = [(a >> 16) - (b >> 16), ((a >> 8) & 255) - ((b >> 8) & 255), (a & 255) - (b & 255)];
  return r * r + g * g + blue * blue;
}

function nearest(colors: readonly number[]): (color: number) => number {
  const known = new Map<number, number>();
  return (color) => {
    let found = known.get(color);
    if (found === undefined) {
      found = 0;
      for (let i = 1; i < colors.length; i++) if (distance(colors[i] ?? 0, color) < distance(colors[found] ?? 0, color)) found = i;
      known.set(color, found);
    }
    return found;
  };
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const frame = Buffer.alloc(body.length + 8);
  frame.writeUInt32BE(data.length, 0);
  body.copy(frame, 4);
  frame.writeUInt32BE(crc(body), body.length + 4);
  return frame;
}

function crc(data: Buffer): number {
  let value = 0xffffffff;
  for (const byte of data) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  }
  return (value ^ 0xffffffff) >>> 0;
}
