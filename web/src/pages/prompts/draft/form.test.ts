import { expect, test } from "vitest";
import { parseExact, printExact } from "@/api";
import { emptyMessage, formOf, moved, orderOf, placeOf, within } from "./form";

const chat = {
  kind: "chat" as const,
  text: "",
  messages: [
    { role: "system", content: "You are {{brand}}." },
    {
      role: "user",
      content: [
        { type: "text", text: "See" },
        { type: "image_url", image_url: { url: "{{photo}}", detail: "low" } },
      ],
    },
    { role: "assistant", tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }] },
    { role: "tool", content: "42", tool_call_id: "c1" },
    { placeholder: "history" },
  ],
  config: { model: "fast", temperature: 0.2, seed: 7, tools: [{ type: "function", function: { name: "f" } }] },
  input_schema: { type: "object" },
};

test("a form gives back the content that it was made of", () => {
  const { order, mistakes } = orderOf(formOf(chat));
  expect(mistakes).toEqual([]);
  expect(order).toEqual({
    kind: "chat",
    messages: [...chat.messages.slice(0, 2), { content: "", ...chat.messages[2] }, ...chat.messages.slice(3)],
    config: chat.config,
    input_schema: chat.input_schema,
  });
});

test("a prompt of kind text is one message", () => {
  const form = formOf({ kind: "text", text: "Be {{tone}}.", messages: [], config: {}, input_schema: null });
  expect(form.messages).toHaveLength(1);
  expect(orderOf(form).order).toEqual({ kind: "text", text: "Be {{tone}}." });
});

test("one text in a list of parts stays a list", () => {
  const messages = [{ role: "user", content: [{ type: "text", text: "x" }] }];
  expect(orderOf(formOf({ ...chat, messages })).order.messages).toEqual(messages);
});

test("texts that are no JSON are mistakes at their places", () => {
  const form = formOf(chat);
  form.config.tools = "[";
  form.config.numbers.temperature = "warm";
  form.config.other = "[1]";
  form.schema = "{";
  expect(orderOf(form).mistakes.map((m) => m.place)).toEqual(["config", "config.temperature", "config.tools", "input_schema"]);
});

test("a setting of another kind than the form's field stays among the others", () => {
  const form = formOf({ ...chat, config: { temperature: "hot" } });
  expect(form.config.numbers.temperature).toBe("");
  expect(orderOf(form).order.config).toEqual({ temperature: "hot" });
});

test("problems of the server have a place and a line", () => {
  const problem = placeOf({ param: "messages[1].content", message: "messages[1].content: line 2, column 3: {{}} names no variable." });
  expect(problem).toEqual({ place: "messages[1].content", line: 2, message: "line 2, column 3: {{}} names no variable." });
  expect(placeOf({ param: "config.model", message: "config.model must be a string." }).line).toBeNull();
  const inner = placeOf({ param: "messages[1].content[0].text", message: "bad" });
  expect(within([problem, inner], "messages[1].content")).toEqual([problem, inner]);
  expect(within([problem], "messages[10]")).toEqual([]);
});

test("messages move", () => {
  expect(moved(["a", "b", "c"], 0, 1)).toEqual(["b", "a", "c"]);
  expect(moved(["a", "b"], 0, -1)).toEqual(["a", "b"]);
  expect(emptyMessage("placeholder").variable).toBe("history");
});

test("integers above 2^53 stay as they are, and can be seen", () => {
  const read = parseExact(
    '{"kind":"text","text":"x","config":{"seed":9007199254740993},"input_schema":{"maximum":18446744073709551615}}',
  ) as typeof chat;
  const form = formOf({ ...read, messages: [] });
  expect(form.config.other).toBe('{\n  "seed": 9007199254740993\n}');
  form.config.model = "fast";
  const { config, input_schema } = orderOf(form).order;
  expect(printExact({ config, input_schema })).toBe(
    '{"config":{"seed":9007199254740993,"model":"fast"},"input_schema":{"maximum":18446744073709551615}}',
  );
});
