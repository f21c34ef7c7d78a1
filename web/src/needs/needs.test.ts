import { expect, test } from "vitest";
import type { Schemas } from "@/api";
import { budgetNeeds, controlNeeds, dayOver, deadLetterNeed, deliveryNeed, targetNeeds, webhookNeeds } from "./needs";
import { countsOf } from "./useNeeds";

const now = Date.parse("2026-11-17T12:00:00Z");
const figures = (attempts: number, failed: number) => ({ attempts, failed, p50_ms: null, p95_ms: null });

test("targets need a person when they are down or fail often, not when they rest or are paused", () => {
  const needs = targetNeeds([
    { name: "a", state: "open", recent: figures(100, 1) },
    { name: "b", state: "open", recent: figures(100, 7) },
    { name: "c", state: "broken", recent: figures(4, 4) },
    { name: "d", state: "resting", recent: figures(100, 0) },
    { name: "e", state: "paused", recent: figures(100, 50) },
    { name: "f", state: "open", recent: figures(5, 5) },
  ]);
  expect(needs.map((n) => [n.title, n.state])).toEqual([
    ["b fails 7.0% of its attempts", "degraded"],
    ["c is down", "down"],
  ]);
});

test("dead letters are one line with the largest group", () => {
  const group = (count: number, code: string) => ({ count, code, model: "m", at_least: false }) as Schemas["DeadLetterGroup"];
  expect(deadLetterNeed({ data: [], has_more: false })).toEqual([]);
  const [need] = deadLetterNeed({ data: [group(5, "timeout"), group(29, "context_too_long")], has_more: false });
  expect([need?.title, need?.note, need?.count]).toEqual(["34 dead letters in 2 groups", "29 × context_too_long of m", 34]);
  expect(deadLetterNeed({ data: [group(1, "timeout")], has_more: true })[0]?.title).toBe("1+ dead letter in 1 group");
});

const budget = (spent: string, left: string, more: Partial<Schemas["BudgetBalance"]> = {}) =>
  ({
    key: null,
    model: null,
    tag: null,
    period: "monthly",
    hard: true,
    limit_usd: "100",
    spent_usd: spent,
    left_usd: left,
    exceeded_at: null,
    ...more,
  }) as Schemas["BudgetBalance"];

test("budgets need a person from 90% on, when used up, and when the forecast passes them", () => {
  const forecast = {
    forecast_usd: "130",
    days: [
      { day: "2026-11-01", cost_usd: "60", expected: false },
      { day: "2026-11-02", cost_usd: "60", expected: true },
    ],
  } as Schemas["MonthForecast"];
  expect(dayOver(forecast, "100")).toBe("2026-11-02");
  expect(dayOver(forecast, "120")).toBeNull();
  expect(budgetNeeds([budget("20", "80")], undefined, "utc")).toEqual([]);
  const titles = (b: Schemas["BudgetBalance"], f?: Schemas["MonthForecast"]) => budgetNeeds([b], f, "utc").map((n) => n.title);
  expect(titles(budget("20", "80"), forecast)).toEqual(["Monthly budget will be used up on 2 Nov"]);
  expect(titles(budget("91", "8", { model: "fast" }))).toEqual(["Monthly budget of fast is 92% used"]);
  expect(budgetNeeds([budget("100", "0")], undefined, "utc")[0]).toMatchObject({
    urgent: true,
    note: "$100.00 of $100.00 spent · new work is refused",
  });
});

test("webhooks, deliveries and pauses", () => {
  const hook = (more: object) => ({
    id: "w",
    url: "https://a.example/x",
    description: "",
    enabled: true,
    failing_since: null,
    disabled_reason: null,
    failures: 0,
    ...more,
  });
  const hooks = [hook({}), hook({ failing_since: "2026-11-17T09:00:00Z", failures: 19 }), hook({ enabled: false, disabled_reason: "410" })];
  expect(webhookNeeds(hooks as Schemas["Webhook"][], now).map((n) => n.title)).toEqual(["a.example fails", "a.example was disabled"]);
  const delivery = (at: string) => ({ created_at: at, error: null, url: "https://a.example" }) as Schemas["Delivery"];
  expect(deliveryNeed({ data: [delivery("2026-11-10T00:00:00Z")], has_more: false }, now)).toEqual([]);
  expect(deliveryNeed({ data: [delivery("2026-11-17T00:00:00Z")], has_more: false }, now)[0]?.title).toBe("1 delivery failed in 24 hours");
  const control = {
    kind: "model",
    name: "gpt-4.1",
    state: "paused",
    reason: "price",
    actor: "Priya",
    since: "2026-11-17T10:00:00Z",
    running: 0,
  };
  const pauses = controlNeeds([control as Schemas["Control"]], now);
  expect(pauses[0]).toMatchObject({ title: "Model gpt-4.1 is paused", note: "price · Priya, 2 h ago" });
  expect(countsOf([...pauses, ...pauses]).get("queues")).toEqual({ text: "2", urgent: false });
});
