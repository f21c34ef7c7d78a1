import { expect, test } from "vitest";
import { addColumn, firstEditor, type Tool, withColumn } from "./editor";
import { formatName, readFormat, readTool, toolsOf, withTool } from "./tools";

const tool = (name: string, description = ""): Tool => ({ type: "function", function: { name, description } });
const two = addColumn(firstEditor());

test("a tool is added to the chosen columns, with its result", () => {
  const effective = [{ tools: [] }, { tools: [tool("of_prompt")] }];
  const editor = withTool(two, effective, null, { definition: tool("get_weather"), result: "21", columns: [1] });
  expect(editor.columns.map((c) => c.tools?.map((t) => t.function.name) ?? null)).toEqual([null, ["of_prompt", "get_weather"]]);
  expect(editor.columns[1]?.toolResults).toEqual({ get_weather: "21" });
});

test("a result alone leaves the tools of the prompt in force", () => {
  const effective = [{ tools: [tool("of_prompt")] }, { tools: [] }];
  const editor = withTool(two, effective, "of_prompt", { definition: tool("of_prompt"), result: "{}", columns: [0] });
  expect(editor.columns[0]?.tools).toBeNull();
  expect(editor.columns[0]?.toolResults).toEqual({ of_prompt: "{}" });
});

test("a tool is renamed in its place, and removed with its result", () => {
  const start = withColumn(two, 0, { tools: [tool("a"), tool("b")], toolResults: { a: "1" } });
  const effective = [{ tools: [tool("a"), tool("b")] }, { tools: [] }];
  const renamed = withTool(start, effective, "a", { definition: tool("c"), result: "1", columns: [0] });
  expect(renamed.columns[0]?.tools?.map((t) => t.function.name)).toEqual(["c", "b"]);
  expect(renamed.columns[0]?.toolResults).toEqual({ c: "1" });
  const removed = withTool(start, effective, "a", null);
  expect(removed.columns[0]?.tools?.map((t) => t.function.name)).toEqual(["b"]);
  expect(removed.columns[0]?.toolResults).toEqual({});
});

test("tools over all columns", () => {
  const columns = [
    { ...two.columns[0], toolResults: {} },
    { ...two.columns[1], toolResults: { a: "1" } },
  ] as typeof two.columns;
  const shared = toolsOf(columns, [{ tools: [tool("a")] }, { tools: [tool("a"), tool("b")] }]);
  expect(shared.map((t) => [t.name, t.result, t.columns])).toEqual([
    ["a", "1", [0, 1]],
    ["b", null, [1]],
  ]);
});

test("a definition is a tool or its function", () => {
  expect(readTool('{"name":"a"}')).toEqual({ tool: { type: "function", function: { name: "a" } } });
  expect(readTool('{"type":"function","function":{"name":"a"}}')).toEqual({ tool: { type: "function", function: { name: "a" } } });
  expect(readTool("{}")).toEqual({ problem: "The function needs a name." });
  expect(readTool('{"name":"a b"}')).toHaveProperty("problem");
  expect(readTool("{")).toHaveProperty("problem");
});

test("a format is whole, or a schema that gets a name", () => {
  expect(readFormat("")).toEqual({ format: null });
  expect(readFormat('{"type":"json_object"}')).toEqual({ format: { type: "json_object" } });
  expect(readFormat('{"type":"object","title":"Ticket v3"}')).toEqual({
    format: { type: "json_schema", json_schema: { name: "Ticket_v3", strict: true, schema: { type: "object", title: "Ticket v3" } } },
  });
  expect(readFormat("[]")).toEqual({ problem: "It is not a JSON object." });
  expect(formatName({ type: "json_schema", json_schema: { name: "triage", strict: true } })).toBe("triage · strict");
  expect(formatName({ type: "json_object" })).toBe("json_object");
  expect(formatName(null)).toBeNull();
});
