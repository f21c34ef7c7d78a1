const units: Record<string, number> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const part = /([0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h|d)/g;
const whole = /^(?:[0-9]+(?:\.[0-9]+)?(?:ns|us|µs|ms|s|m|h|d))+$/;

/** The milliseconds of a duration of the API (`1m30s`) or of a person (`30d`); null for anything else. */
export function durationMs(text: string | null | undefined): number | null {
  const compact = (text ?? "").replaceAll(" ", "");
  if (!whole.test(compact)) return null;
  let ms = 0;
  for (const [, count, unit] of compact.matchAll(part)) ms += Number(count) * (units[unit ?? ""] ?? 0);
  return ms;
}

/** A duration as the API takes it: days become hours. Null for text that is no duration. */
export function durationForApi(text: string): string | null {
  const compact = text.replaceAll(" ", "");
  if (!whole.test(compact)) return null;
  return compact.replace(/([0-9]+(?:\.[0-9]+)?)d/g, (_, days: string) => `${Number((Number(days) * 24).toFixed(6))}h`);
}

/** `60 d`, `36 h`, `90 s`: a duration of the API in its largest whole unit. */
export function formatGoDuration(text: string | null | undefined): string | null {
  const ms = durationMs(text);
  if (ms === null) return text ?? null;
  for (const unit of ["d", "h", "m", "s"] as const) {
    const count = ms / (units[unit] ?? 1);
    if (count >= 1 && Number.isInteger(count)) return `${count} ${unit}`;
  }
  return `${ms} ms`;
}
