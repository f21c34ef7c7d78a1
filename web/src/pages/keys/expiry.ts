/** When a new key expires, as a form offers it. */
export const expiries = [
  { value: "never", label: "Never" },
  { value: "168h", label: "In 7 days" },
  { value: "720h", label: "In 30 days" },
  { value: "2160h", label: "In 90 days" },
  { value: "8760h", label: "In 365 days" },
] as const;

export type Expiry = (typeof expiries)[number]["value"];

export function expiryField(expiry: Expiry): { expires_in?: string } {
  return expiry === "never" ? {} : { expires_in: expiry };
}

/** How long the old key of a rotation still works. */
export const overlaps = [
  { value: "0s", label: "It ends at once" },
  { value: "1h", label: "1 hour" },
  { value: "24h", label: "24 hours" },
  { value: "168h", label: "7 days" },
  { value: "720h", label: "30 days" },
] as const;

export type Overlap = (typeof overlaps)[number]["value"];
