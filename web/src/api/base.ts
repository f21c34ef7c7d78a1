/** The path that the server serves the console under, without a slash at its end: "" or "/penstock". */
export const basePath = typeof document === "undefined" ? "" : new URL(document.baseURI).pathname.replace(/\/[^/]*$/, "");

/** The address of the server as a caller sees it, for the commands that pages show. */
export function serverURL(): string {
  return window.location.origin + basePath;
}
