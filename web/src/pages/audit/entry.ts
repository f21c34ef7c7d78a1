import type { Schemas } from "@/api";
import { shortId } from "@/format";
import { pageOfId } from "@/frame/palette";

export type AuditEntry = Schemas["AuditEntry"];

export interface Actor {
  name: string;
  email: string | null;
  session: string | null;
  /** The text that selects all changes of this actor, in all sessions. */
  filter: string;
}

/** The parts of an actor: `Ada <ada@example.com> (session ses_…)` for a person, a name for a key or a program. */
export function actorOf(text: string): Actor {
  const session = / \(session (ses_\w+)\)$/.exec(text);
  const who = session ? text.slice(0, session.index) : text;
  const address = session ? / <([^<>]+)>$/.exec(who) : null;
  return {
    name: address ? who.slice(0, address.index) : who,
    email: address?.[1] ?? null,
    session: session?.[1] ?? null,
    filter: who,
  };
}

/** The page of the object of an entry; null where the console has none. Addresses of tenants are encoded. */
export function pageOfSubject(entry: Pick<AuditEntry, "subject" | "tenant">): string | null {
  const { subject, tenant } = entry;
  const [kind = "", ...rest] = subject.split("/");
  const name = rest.join("/");
  if (kind === "tenant" && name) return `/all/tenants/${encodeURIComponent(name)}`;
  if (kind === "key" && tenant !== "-") return `/all/tenants/${encodeURIComponent(tenant)}?tab=keys&keys=all`;
  if (subject.startsWith("ses_")) return "/all/members?tab=sessions";
  if (subject.startsWith("mem_")) return "/all/members";
  if (subject.startsWith("cfg_") || kind === "config") return "/all/settings?section=configuration";
  const page = tenant === "-" ? null : pageOfId(subject);
  return page ? `/t/${encodeURIComponent(tenant)}/${page.path}` : null;
}

/** The object in a row: ids show their tail, names are whole. */
export function subjectWords(subject: string): string {
  return subject.replace(/\b[a-z]+_[0-9A-Z]{20,}\b/g, shortId);
}

/** A value as text of several lines, its keys in order, so that two values can be compared. */
export function textOf(value: unknown): string {
  return value === null || value === undefined ? "" : JSON.stringify(sorted(value), null, 2);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  );
}

/** The change in a few words: the fields that differ, or that the object is new or gone. */
export function changeWords(entry: Pick<AuditEntry, "before" | "after">): string {
  const { before, after } = entry;
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
    return names.filter((name) => textOf(before[name]) !== textOf(after[name])).join(", ");
  }
  if (before == null && after == null) return "";
  return before == null ? "new" : after == null ? "removed" : "changed";
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}
