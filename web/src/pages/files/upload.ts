import { api, basePath, dataOf } from "@/api";
import { callHeaders } from "@/api/client";
import { ApiError, type ErrorBody } from "@/api/error";
import type { File as StoredFile } from "./file";

export interface UploadOptions {
  purpose: "batch" | "user_data" | "vision";
  /** How long the file is kept; absent: as long as the server keeps files. */
  seconds?: number | undefined;
  onProgress: (sent: number) => void;
  signal: AbortSignal;
}

const mebi = 1 << 20;
/** Larger files go in parts: a part that fails costs no more than itself, and no proxy sees a body larger than this. */
export const partBytes = 32 * mebi;

/** The parts of a file, as offsets. */
export function partsOf(size: number, part = partBytes): { from: number; to: number }[] {
  const count = Math.max(1, Math.ceil(size / part));
  return Array.from({ length: count }, (_, i) => ({ from: i * part, to: Math.min(size, (i + 1) * part) }));
}

/** Uploads a file, in one call or in parts. It rejects with an ApiError, or with an AbortError after a stop. */
export function uploadFile(tenant: string, file: File, options: UploadOptions): Promise<StoredFile> {
  return file.size > partBytes ? uploadParts(tenant, file, options) : uploadWhole(tenant, file, options);
}

async function uploadWhole(tenant: string, file: File, o: UploadOptions): Promise<StoredFile> {
  const form = new FormData();
  form.append("purpose", o.purpose);
  if (o.seconds) {
    form.append("expires_after[anchor]", "created_at");
    form.append("expires_after[seconds]", String(o.seconds));
  }
  form.append("file", file, file.name);
  return (await send(tenant, "/v1/files", form, o)) as StoredFile;
}

async function uploadParts(tenant: string, file: File, o: UploadOptions): Promise<StoredFile> {
  const expires_after = o.seconds ? { anchor: "created_at", seconds: o.seconds } : null;
  const body = {
    bytes: file.size,
    filename: file.name,
    mime_type: file.type || "application/octet-stream",
    purpose: o.purpose,
    expires_after,
  };
  const upload = await dataOf(api(tenant).POST("/v1/uploads", { body, signal: o.signal }));
  const path = { params: { path: { id: upload.id } } };
  try {
    const part_ids: string[] = [];
    for (const { from, to } of partsOf(file.size)) {
      const form = new FormData();
      form.append("data", file.slice(from, to));
      const part = await send(tenant, `/v1/uploads/${upload.id}/parts`, form, { ...o, onProgress: (sent) => o.onProgress(from + sent) });
      part_ids.push((part as { id: string }).id);
    }
    const done = await dataOf(api(tenant).POST("/v1/uploads/{id}/complete", { ...path, body: { part_ids }, signal: o.signal }));
    if (!done.file) throw new ApiError(200, { message: "The server made no file of the upload." }, null);
    return done.file;
  } catch (error) {
    await api(tenant)
      .POST("/v1/uploads/{id}/cancel", path)
      .catch(() => undefined); // the upload expires by itself
    throw error;
  }
}

/** Posts a form. fetch reports no progress of what it sends, so this is an XMLHttpRequest. */
function send(tenant: string, path: string, form: FormData, o: UploadOptions): Promise<unknown> {
  return new Promise((resolve, reject) => {
    if (o.signal.aborted) return reject(new DOMException("Stopped", "AbortError"));
    const call = new XMLHttpRequest();
    call.open("POST", basePath + path);
    for (const [name, value] of Object.entries(callHeaders(tenant, "POST"))) call.setRequestHeader(name, value);
    call.upload.onprogress = (e) => o.onProgress(Math.min(e.loaded, e.total));
    call.onerror = () => reject(new ApiError(0, { message: "The connection broke. Nothing of the file is kept; upload it again." }, null));
    call.onabort = () => reject(new DOMException("Stopped", "AbortError"));
    call.onload = () => {
      const answer = parse(call.responseText);
      if (call.status >= 200 && call.status < 300) return resolve(answer);
      const error = (answer as { error?: Partial<ErrorBody> } | null)?.error ?? {};
      reject(new ApiError(call.status, error, call.getResponseHeader("x-request-id")));
    };
    o.signal.addEventListener("abort", () => call.abort(), { once: true });
    call.send(form);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
