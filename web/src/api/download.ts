import { basePath } from "./base";
import { callHeaders } from "./client";
import { errorOf } from "./error";

/** Saves the answer of a GET as a file. It is read whole first: an answer that breaks off is an error and not half a file. */
export async function download(tenant: string | null, path: string, query: Record<string, string>, name: string): Promise<void> {
  const response = await fetch(`${basePath}${path}?${new URLSearchParams(query)}`, {
    headers: callHeaders(tenant, "GET"),
    credentials: "same-origin",
  });
  if (!response.ok) throw await errorOf(response);
  saveBlob(await response.blob(), name);
}

/** Saves data of the page as a file. */
export function saveBlob(data: Blob, name: string): void {
  const url = URL.createObjectURL(data);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
