import type { Role } from "@/session";

/** Each role in a sentence, and what it may do. docs/reference/roles.md has every route. */
export const roles: readonly { role: Role; about: string; read: string; payloads: boolean; change: string }[] = [
  { role: "viewer", about: "Looks", read: "Work, usage, load", payloads: false, change: "Nothing" },
  {
    role: "developer",
    about: "Builds with the API",
    read: "Work, usage, load",
    payloads: true,
    change: "Submits, cancels, retries and deletes work; files, webhooks",
  },
  { role: "reviewer", about: "Reads answers", read: "Work, usage, load", payloads: true, change: "Nothing" },
  {
    role: "operator",
    about: "Keeps it running",
    read: "Work, usage, load, configuration",
    payloads: false,
    change: "Cancels and retries work, redelivers webhooks; for all tenants also pauses, drains and reloads",
  },
  { role: "auditor", about: "Checks what was done", read: "Work, usage, load, audit", payloads: false, change: "Nothing" },
  {
    role: "admin",
    about: "Everything",
    read: "Everything",
    payloads: true,
    change: "Everything; for all tenants also tenants, keys, members and sessions",
  },
];

export const roleChoices = roles.map(({ role, about }) => ({ value: role, label: `${role}: ${about.toLowerCase()}` }));
