/** The path to go to after sign-in: inside this console, or its start. Another host, or a path that a browser reads as one, is refused. */
export function safeReturn(text: string | undefined): string {
  if (!text?.startsWith("/") || text.startsWith("//") || text.includes("\\")) return "/";
  // biome-ignore lint/suspicious/noControlCharactersInRegex: browsers drop these characters, so "/\t/host" is another host.
  if (/[\u0000-\u001f]/.test(text)) return "/";
  return text.startsWith("/sign-in") ? "/" : text;
}
