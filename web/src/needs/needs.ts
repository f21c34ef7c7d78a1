import type { Schemas } from "@/api";
import type { State } from "@/components/StateGlyph";
import { costForDrawing, costShare, formatAge, formatCost, formatCount, formatDate, formatPercent, plural, type Zone } from "@/format";

/** Something that a person must act on. */
export interface Need {
  id: string;
  /** The page that acts (`id` of navPages), and the number that it adds to the count beside the page. */
  page: string;
  count: number;
  atLeast?: boolean;
  urgent: boolean;
  state: State;
  title: string;
  note: string;
}

type Target = Pick<Schemas["Target"], "name" | "state" | "recent">;

const down = new Set(["broken", "probed"]);
const failingShare = 0.05;
const fewestAttempts = 20; // a share of fewer says little

/** Targets that are down, or that fail often though they are open. Targets that rest after a rate limit recover by themselves. */
export function targetNeeds(targets: readonly Target[]): Need[] {
  return targets.flatMap((t): Need[] => {
    const { attempts, failed } = t.recent;
    const share = attempts >= fewestAttempts ? failed / attempts : 0;
    if (!down.has(t.state) && (t.state === "paused" || share < failingShare)) return [];
    const broken = down.has(t.state);
    return [
      {
        id: `target:${t.name}`,
        page: "models",
        count: 1,
        urgent: broken,
        state: broken ? "down" : "degraded",
        title: broken ? `${t.name} is down` : `${t.name} fails ${formatPercent(share)} of its attempts`,
        note: attempts > 0 ? `${formatCount(failed)} of ${plural(attempts, "attempt")} failed in 15 min` : "No attempt in 15 min",
      },
    ];
  });
}

/** Pauses and drains. They stay until a person ends them. */
export function controlNeeds(controls: readonly Schemas["Control"][], now: number): Need[] {
  return controls
    .filter((c) => c.state !== "open")
    .map((c) => ({
      id: `control:${c.kind}:${c.name}`,
      page: "queues",
      count: 1,
      urgent: false,
      state: "paused",
      title: `${capital(c.kind)} ${c.name} is ${c.state}`,
      note: [c.reason, `${c.actor}${c.since ? `, ${formatAge(c.since, now)} ago` : ""}`].filter(Boolean).join(" · "),
    }));
}

/** One line for all dead letters, with the largest group. */
export function deadLetterNeed(page: Pick<Schemas["DeadLetterGroupPage"], "data" | "has_more">): Need[] {
  const groups = page.data;
  if (groups.length === 0) return [];
  const count = groups.reduce((sum, g) => sum + g.count, 0);
  const atLeast = page.has_more || groups.some((g) => g.at_least);
  const most = groups.reduce((a, b) => (b.count > a.count ? b : a));
  return [
    {
      id: "dead-letters",
      page: "dead-letters",
      count,
      atLeast,
      urgent: true,
      state: "failed",
      title: `${formatCount(count)}${atLeast ? "+" : ""} ${count === 1 ? "dead letter" : "dead letters"} in ${plural(groups.length, "group")}`,
      note: `${formatCount(most.count)} × ${most.code}${most.model ? ` of ${most.model}` : ""}`,
    },
  ];
}

/** Webhooks that fail or that the server disabled. */
export function webhookNeeds(webhooks: readonly Schemas["Webhook"][], now: number): Need[] {
  return webhooks
    .filter((w) => w.failing_since !== null || (!w.enabled && w.disabled_reason))
    .map((w) => ({
      id: `webhook:${w.id}`,
      page: "webhooks",
      count: 1,
      urgent: !w.enabled,
      state: w.enabled ? "degraded" : "down",
      title: `${w.description || hostOf(w.url)} ${w.enabled ? "fails" : "was disabled"}`,
      note: w.enabled
        ? `${plural(w.failures, "delivery attempt")} failed in a row${w.failing_since ? `, since ${formatAge(w.failing_since, now)}` : ""}`
        : (w.disabled_reason ?? ""),
    }));
}

const recentMs = 24 * 3_600_000;

/** Deliveries of the last day that are given up. */
export function deliveryNeed(page: Pick<Schemas["DeliveryPage"], "data" | "has_more">, now: number): Need[] {
  const recent = page.data.filter((d) => now - Date.parse(d.created_at) < recentMs);
  const [first] = recent;
  if (!first) return [];
  return [
    {
      id: "deliveries",
      page: "webhooks",
      count: recent.length,
      atLeast: page.has_more,
      urgent: false,
      state: "failed",
      title: `${plural(recent.length, "delivery", "deliveries")} failed in 24 hours`,
      note: first.error ?? hostOf(first.url),
    },
  ];
}

type Budget = Schemas["BudgetBalance"];
const nearlyUsed = 0.9;

/** Budgets that are used up or nearly so, and the month's budget that the forecast passes. */
export function budgetNeeds(budgets: readonly Budget[], forecast: Schemas["MonthForecast"] | undefined, zone: Zone): Need[] {
  return budgets.flatMap((b): Need[] => {
    const share = 1 - costShare(b.left_usd, b.limit_usd);
    const day = isWhole(b) && b.period === "monthly" && forecast ? dayOver(forecast, b.limit_usd) : null;
    if (share < nearlyUsed && !b.exceeded_at && !day) return [];
    const used = b.exceeded_at !== null || share >= 1;
    const name = budgetName(b);
    return [
      {
        id: `budget:${name}`,
        page: "usage",
        count: 1,
        urgent: used,
        state: used ? "down" : "degraded",
        title: used
          ? `${capital(name)} is used up`
          : share >= nearlyUsed
            ? `${capital(name)} is ${formatPercent(share)} used`
            : `${capital(name)} will be used up on ${formatDate(day ?? "", zone)}`,
        note: [
          `${formatCost(b.spent_usd)} of ${formatCost(b.limit_usd)} spent`,
          used && b.hard ? "new work is refused" : day && forecast ? `forecast ${formatCost(forecast.forecast_usd)}` : "",
        ]
          .filter(Boolean)
          .join(" · "),
      },
    ];
  });
}

export function isWhole(b: Pick<Budget, "key" | "model" | "tag">): boolean {
  return b.key === null && b.model === null && b.tag === null;
}

/** `monthly budget of gpt-4.1-mini`: the period, and the part of the work that it is for. */
export function budgetName(b: Pick<Budget, "key" | "model" | "tag" | "period">): string {
  const of = [b.key && `key ${b.key}`, b.model, b.tag].filter(Boolean).join(", ");
  return `${b.period} budget${of ? ` of ${of}` : ""}`;
}

/** The first day on which the cost of the month passes a limit; null if it does not. */
export function dayOver(forecast: Schemas["MonthForecast"], limit: string): string | null {
  let sum = 0;
  for (const d of forecast.days) {
    sum += costForDrawing(d.cost_usd); // only compared, never shown
    if (sum > costForDrawing(limit)) return d.day;
  }
  return null;
}

/** Urgent ones first. */
export function inOrder(needs: readonly Need[]): Need[] {
  return [...needs].sort((a, b) => Number(b.urgent) - Number(a.urgent));
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
