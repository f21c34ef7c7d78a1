/** The images of one message, and the size of one image, that the page takes. The server bounds the whole setup. */
export const maxImages = 8;
export const maxImageBytes = 1_500_000;

const types = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function imageFiles(list: FileList | undefined): File[] {
  return [...(list ?? [])].filter((file) => file.type.startsWith("image/"));
}

/** An image of a file as a data URL, or the reason why it is not taken. */
export async function readImage(file: File): Promise<{ url: string } | { problem: string }> {
  if (!types.includes(file.type)) return { problem: `${file.name} is no PNG, JPEG, GIF or WebP` };
  if (file.size > maxImageBytes) return { problem: `${file.name} is larger than 1.5 MB` };
  return { url: dataURL(file.type, new Uint8Array(await file.arrayBuffer())) };
}

export function dataURL(type: string, bytes: Uint8Array): string {
  let binary = "";
  for (let i = 0; i < bytes.length; i += 8192) binary += String.fromCharCode(...bytes.subarray(i, i + 8192));
  return `data:${type};base64,${btoa(binary)}`;
}

/** The bytes of a data URL of an image; null for any other address. */
export function bytesOfURL(url: string): { type: string; bytes: Uint8Array<ArrayBuffer> } | null {
  const parts = /^data:(image\/[a-z]+);base64,([A-Za-z0-9+/=]+)$/.exec(url);
  if (!parts) return null;
  try {
    const binary = atob(parts[2] ?? "");
    return { type: parts[1] ?? "", bytes: Uint8Array.from(binary, (c) => c.charCodeAt(0)) };
  } catch {
    return null;
  }
}
