/** The colours of people, as tokens. Each has enough contrast with the surface in both themes. */
export const colours = ["violet", "green", "amber", "water", "red", "slate"] as const;

export type Colour = (typeof colours)[number];

/** The colour of a person, the same everywhere. */
export function colourOf(person: string): Colour {
  let sum = 0;
  for (const c of person) sum = (sum * 31 + (c.codePointAt(0) ?? 0)) >>> 0;
  return colours[sum % colours.length] ?? "slate";
}
