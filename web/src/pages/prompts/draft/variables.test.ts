import { expect, test } from "vitest";
import { missingOf, valuesOf, variablesOf } from "./variables";

const schema = {
  type: "object",
  required: ["question", "history"],
  properties: {
    vip: true,
    tone: { enum: ["kind", "brief"], default: "kind" },
    question: { type: "string", description: "Of the customer" },
    history: { type: "array" },
    orders: { type: ["integer", "null"] },
    dry: { type: "boolean" },
  },
};

test("variables of a schema, required ones first", () => {
  const all = variablesOf(schema);
  expect(all.map((v) => [v.name, v.kind, v.required])).toEqual([
    ["question", "string", true],
    ["history", "list", true],
    ["vip", "any", false],
    ["tone", "choice", false],
    ["orders", "number", false],
    ["dry", "boolean", false],
  ]);
  expect(all[3]).toMatchObject({ choices: ['"kind"', '"brief"'], initial: '"kind"' });
  expect(all[0]?.about).toBe("Of the customer");
  expect(variablesOf(null)).toEqual([]);
});

test("typed texts become values of the kinds", () => {
  const all = variablesOf(schema);
  const { values, wrong } = valuesOf(all, { question: "{{x}} 1", history: "[1]", vip: "yes", orders: "3", dry: "true" });
  expect(values).toEqual({ question: "{{x}} 1", history: [1], vip: "yes", tone: "kind", orders: 3, dry: true });
  expect(wrong).toEqual({});
  expect(valuesOf(all, { vip: '{"a":1}' }).values.vip).toEqual({ a: 1 });
});

test("wrong and missing values are named", () => {
  const all = variablesOf(schema);
  const { values, wrong } = valuesOf(all, { history: "[", orders: "many" });
  expect(Object.keys(wrong)).toEqual(["history", "orders"]);
  expect(missingOf(all, values)).toEqual(["question", "history"]);
});
