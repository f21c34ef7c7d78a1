import type { Schemas } from "@/api";
import { Chip } from "@/components/Chip";
import { LaneBars } from "@/components/LaneBars";
import { StateGlyph } from "@/components/StateGlyph";
import { formatAmount, formatBytes, formatGoDuration, missing } from "@/format";
import type { Limits } from "./allowance";
import type { Tenant } from "./data";

/** Enabled or disabled, as shape and word. */
export function TenantState({ tenant }: { tenant: Pick<Tenant, "enabled"> }) {
  return (
    <span className="inline-flex items-center gap-1.5">
      <StateGlyph state={tenant.enabled ? "healthy" : "cancelled"} />
      {tenant.enabled ? "Enabled" : "Disabled"}
    </span>
  );
}

/** Which owner a tenant, a key or a grant has: the file or the API. */
export function Source({ source }: { source: string }) {
  return source === "file" ? <Chip hue="violet">File</Chip> : <span className="text-ink-3">API</span>;
}

export function Lanes({ lanes }: { lanes: readonly Schemas["Lane"][] }) {
  if (lanes.length === 3) return <>All</>;
  return (
    <span className="flex gap-2">
      {lanes.map((lane) => (
        <LaneBars key={lane} lane={lane} />
      ))}
    </span>
  );
}

const short: readonly [keyof Limits & string, (n: number) => string][] = [
  ["requests_per_minute", (n) => `${formatAmount(n)} req/min`],
  ["input_tokens_per_minute", (n) => `${formatAmount(n)} in/min`],
  ["output_tokens_per_minute", (n) => `${formatAmount(n)} out/min`],
  ["daily_tokens", (n) => `${formatAmount(n)} tokens/day`],
  ["concurrency", (n) => `${formatAmount(n)} at once`],
];

/** The limits in a few words: `600 req/min, 40 at once`. */
export function limitWords(limits: Limits): string {
  const words = short.flatMap(([name, word]) => (typeof limits[name] === "number" && limits[name] ? [word(limits[name])] : []));
  return words.join(", ") || missing;
}

/** The value of one limit, with its unit. */
export function limitValue(name: string, value: number | string | undefined): string {
  if (value === undefined || value === 0) return name === "burst" || name === "wait" ? "Default" : "No limit";
  if (typeof value === "string") return formatGoDuration(value) ?? value;
  return name === "stored_bytes" ? formatBytes(value) : name === "burst" ? String(value) : formatAmount(value);
}

/** How long the work of a tenant is kept; the global default where the tenant has no own time. */
export function retentionWord(own: string | null): string {
  return formatGoDuration(own) ?? "Default";
}
