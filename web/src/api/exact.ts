/** Begins a text that stands for an integer. It is random, so that no text of a person is taken for one. */
const mark = `int ${Math.random().toString(36).slice(2)} `;

const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const marked = new RegExp(`"${mark}(-?\\d+)"`, "g");

/** Parses JSON. Integers that no number of JavaScript holds become texts, which `printExact` prints as the integers again. */
export function parseExact(text: string): unknown {
  const value: unknown = JSON.parse(text); // mistakes are named at their places in this text
  const exact = text.replaceAll(tokens, (token) =>
    /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${mark}${token}"` : token,
  );
  return exact === text ? value : JSON.parse(exact);
}

/** Prints JSON with the integers of `parseExact` as they were. */
export function printExact(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replaceAll(marked, "$1");
}
