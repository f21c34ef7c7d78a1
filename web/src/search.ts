/** Search parameters of the URL: plain text, so that links can be read and written by hand. A repeated name is a list. */
export type Search = Record<string, string | string[] | undefined>;

export function parseSearch(text: string): Search {
  const search: Search = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const old = search[name];
    search[name] = old === undefined ? value : [...(Array.isArray(old) ? old : [old]), value];
  }
  return search;
}

export function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") params.append(name, String(one));
    }
  }
  // Ids, tags and times are easier to read with these characters as they are.
  const text = params.toString().replaceAll("%3A", ":").replaceAll("%2C", ",").replaceAll("%2F", "/");
  return text ? `?${text}` : "";
}

/** The text of a parameter; undefined where it is absent or a list. */
export function textIn(search: Record<string, unknown>, name: string): string | undefined {
  const value = search[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** One of a closed list; undefined for anything else. */
export function oneOf<V extends string>(search: Record<string, unknown>, name: string, values: readonly V[]): V | undefined {
  const value = textIn(search, name);
  return values.find((v) => v === value);
}

/** A list, as a comma-separated parameter. */
export function listIn(search: Record<string, unknown>, name: string): string[] | undefined {
  return textIn(search, name)?.split(",").filter(Boolean);
}

/** Drops the absent parameters, as exactOptionalPropertyTypes wants. */
export function present<T extends Record<string, unknown>>(search: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(search).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
