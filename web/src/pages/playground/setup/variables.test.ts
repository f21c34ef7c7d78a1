import { expect, test } from "vitest";
import { fieldsOfContent, fieldsOfSchema, fieldsOfTemplates, mergeFields, problemWords, rowOfValues, valuesOfRow } from "./variables";

const schema = {
  type: "object",
  required: ["question", "extra"],
  properties: {
    question: { type: "string", description: "Of the customer." },
    plan: { enum: ["Free", "Business", 3] },
    days: { type: "integer" },
    vip: { type: ["boolean", "null"] },
    order: { $ref: "#/$defs/order" },
    free: {},
  },
  $defs: { order: { type: "object" } },
};

test("fields of a schema", () => {
  const fields = fieldsOfSchema(schema);
  expect(fields.map((f) => [f.name, f.kind, f.required])).toEqual([
    ["question", "string", true],
    ["plan", "enum", false],
    ["days", "integer", false],
    ["vip", "boolean", false],
    ["order", "json", false],
    ["free", "any", false],
    ["extra", "any", true],
  ]);
  expect(fields[0]?.description).toBe("Of the customer.");
  expect(fieldsOfSchema(null)).toEqual([]);
  expect(fieldsOfSchema("no schema")).toEqual([]);
});

test("fields of templates and placeholders", () => {
  const fields = fieldsOfTemplates(["{{q}} {{#each items}}{{this}}{{/each}}"], ["history", "q"]);
  expect(fields.map((f) => [f.name, f.kind])).toEqual([
    ["q", "string"],
    ["items", "json"],
    ["history", "json"],
  ]);
});

test("a schema may leave room for other variables of the templates", () => {
  const schema = { properties: { q: { type: "number" } }, required: ["q"] };
  const names = (s: unknown) => fieldsOfContent(s, ["{{q}} {{mood}}"], []).map((f) => [f.name, f.kind, f.required]);
  expect(names(schema)).toEqual([
    ["q", "number", true],
    ["mood", "string", false],
  ]);
  expect(names({ ...schema, additionalProperties: false })).toEqual([["q", "number", true]]);
  expect(names(null)).toEqual([
    ["q", "string", true],
    ["mood", "string", true],
  ]);
});

test("columns share fields; two kinds of one name take any value", () => {
  const a = fieldsOfSchema({ properties: { q: { type: "string" }, n: { type: "number" } }, required: ["q"] });
  const b = fieldsOfSchema({ properties: { n: { type: "string" }, q: { type: "string" } } });
  expect(mergeFields([a, b]).map((f) => [f.name, f.kind, f.required, f.columns])).toEqual([
    ["q", "string", true, [0, 1]],
    ["n", "any", false, [0, 1]],
  ]);
});

test("texts become values of their kind", () => {
  const fields = fieldsOfSchema(schema);
  const row = { question: "", plan: "3", days: "14", vip: "true", order: '{"id":1}', free: "[1]", extra: "plain", unknown: "dropped" };
  expect(valuesOfRow(fields, row)).toEqual({
    values: { question: "", plan: 3, days: 14, vip: true, order: { id: 1 }, free: [1], extra: "plain" },
    problems: {},
  });
});

test("each text that is no value has a problem of its own", () => {
  const { problems } = valuesOfRow(fieldsOfSchema(schema), { plan: "Gold", days: "1.5", vip: "yes", order: "{", extra: "x" });
  expect(Object.keys(problems)).toEqual(["question", "plan", "days", "vip", "order"]);
  expect(problems.question).toBe("is missing");
  expect(problems.plan).toBe("is none of Free, Business, 3");
  expect(problems.days).toBe("is not a whole number");
  expect(problemWords({ a: "is missing", b: "is not a number" })).toBe("a is missing; b is not a number");
  expect(problemWords({ a: "is missing", b: "is not a number", c: "is missing" })).toBe("a, c are missing; b is not a number");
});

test("values of a run come back as texts", () => {
  const values = { question: "Why?", days: 14, order: { id: 1 } };
  const row = rowOfValues(values);
  expect(row).toEqual({ question: "Why?", days: "14", order: '{"id":1}' });
  expect(valuesOfRow(fieldsOfSchema({ properties: schema.properties, $defs: schema.$defs }), row).values).toEqual(values);
});
