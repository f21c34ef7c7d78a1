import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { addressOf, missingIn } from "./call";
import { exampleBody, exampleOf } from "./example";
import { curlSample, python, pythonSample, typescriptSample } from "./samples";
import { aboutOf, accessOf, canTry, groupsOf, type Operation, operationsOf, resolve, type Spec, searchOperations } from "./spec";

const spec = JSON.parse(readFileSync(new URL("../../../../docs/api/openapi.json", import.meta.url), "utf8")) as Spec;
const operations = operationsOf(spec);
const find = (id: string): Operation => {
  const op = operations.find((o) => o.operationId === id);
  if (!op) throw new Error(`no operation ${id}`);
  return op;
};
const server = "https://p";

test("every operation of the document is in one group, has an id of its own, and a sample", () => {
  const grouped = groupsOf(spec, operations).flatMap((g) => g.operations);
  expect(grouped).toHaveLength(operations.length);
  expect(new Set(operations.map((o) => o.operationId)).size).toBe(operations.length);
  for (const op of operations) {
    const call = { op, server, values: {}, body: exampleBody(spec, op) };
    expect(curlSample(call)).toContain(`${server}${op.path.split("{")[0]}`);
    expect(pythonSample(call)).toContain("import");
    expect(typescriptSample(call)).toContain("await");
  }
});

test("every reference of the document leads to a schema", () => {
  for (const [name, schema] of Object.entries(spec.components.schemas)) {
    for (const member of Object.values(schema.properties ?? {})) {
      if (member.$ref) expect(Object.keys(resolve(spec, member).schema), name).not.toHaveLength(0);
    }
  }
});

test("search needs all words", () => {
  expect(searchOperations(operations, "explain model").map((o) => o.operationId)).toEqual(["postModelExplain"]);
  expect(searchOperations(operations, "get /v1/requests")).toHaveLength(3);
  expect(searchOperations(operations, "no such thing")).toEqual([]);
});

test("scopes and roles are read out of the description", () => {
  expect(accessOf(find("postFiles"))).toEqual({ scopes: ["jobs:write"], roles: ["admin", "developer"], open: false });
  expect(accessOf(find("postAdminKeys")).roles).toEqual(["admin"]);
  expect(accessOf(find("getOpenapiJson")).open).toBe(true);
});

test("the sentence about access is said once", () => {
  expect(aboutOf(find("getModels"))).toBe("");
  expect(aboutOf(find("deleteFile"))).toBe("The audit records it as `file.delete`.");
  expect(aboutOf(find("getMetrics"))).toBe("On the admin listener only.");
});

test("routes of the admin listener alone cannot be tried", () => {
  expect(canTry(find("postAdminKeys"))).toBe(true);
  expect(operations.filter((o) => !canTry(o)).map((o) => o.path)).toEqual(["/metrics"]);
});

test("addresses escape their parameters", () => {
  const op = find("postModelExplain");
  expect(addressOf(op, { model: "a/b", endpoint: "/v1/x y" })).toBe("/v1/models/a%2Fb/explain?endpoint=%2Fv1%2Fx+y");
  expect(addressOf(op, {})).toBe("/v1/models/{model}/explain");
  expect(missingIn(op, {})).toEqual(["model"]);
});

test("an example without one in the document has the required members", () => {
  const made = exampleOf(spec, { $ref: "#/components/schemas/UploadComplete" });
  expect(made).toEqual({ part_ids: [""] });
  expect(exampleBody(spec, find("getModels"))).toBeUndefined();
});

test("values as Python writes them", () => {
  expect(python({ a: true, b: null, c: [1] })).toBe('{\n    "a": True,\n    "b": None,\n    "c": [\n        1,\n    ],\n}');
});

test("chat in Python uses the SDK", () => {
  const op = find("postChatCompletions");
  const text = pythonSample({ op, server, values: {}, body: exampleBody(spec, op) });
  expect(text).toContain('client = OpenAI(base_url="https://p/v1"');
  expect(text).toContain('model="fast"');
});
