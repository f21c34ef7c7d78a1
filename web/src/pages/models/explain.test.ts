import { expect, test } from "vitest";
import { bodyOf, type ExplainTarget, endpoints, inOrder, needsOf, reasonText, verdictOf } from "./explain";

const target = (name: string, over: Partial<ExplainTarget> = {}): ExplainTarget => ({
  target: name,
  place: null,
  excluded: null,
  no_capacity: null,
  cost_usd: null,
  latency_ms: null,
  quality: null,
  headroom: null,
  score: null,
  ...over,
});

test("a chat call with all needs", () => {
  const body = bodyOf({ endpoint: "/v1/chat/completions", text: "Hi", max: 50, needs: ["stream", "tools", "images", "schema"] });
  expect(body).toMatchObject({ stream: true, max_completion_tokens: 50, response_format: { type: "json_schema" } });
  expect(body.tools).toHaveLength(1);
  expect(JSON.stringify(body.messages)).toContain("data:image/png");
});

test("needs that an endpoint does not have are left out", () => {
  for (const endpoint of endpoints) {
    const body = bodyOf({ endpoint, text: "Hi", needs: ["stream", "tools", "images", "schema"] });
    expect(body.stream === true).toBe(needsOf(endpoint).includes("stream"));
    expect("tools" in body).toBe(needsOf(endpoint).includes("tools"));
  }
});

test("a number of tokens stands for a text", () => {
  expect(bodyOf({ endpoint: "/v1/embeddings", text: "ignored", tokens: 3, needs: [] })).toEqual({ input: "word word word " });
});

test("verdicts", () => {
  const chosen = { chosen: "a" };
  expect(verdictOf(target("a", { place: 1 }), chosen).kind).toBe("chosen");
  expect(verdictOf(target("b", { place: 2 }), chosen).kind).toBe("next");
  expect(verdictOf(target("c", { place: 3, no_capacity: "is full" }), chosen)).toEqual({ kind: "busy", text: "It is full." });
  expect(verdictOf(target("d", { excluded: "was paused by an operator" }), chosen)).toEqual({
    kind: "excluded",
    text: "It was paused by an operator.",
  });
  expect(reasonText("messages: a hard budget pays.")).toBe("Messages: a hard budget pays.");
});

test("the order of the policy, then the excluded ones", () => {
  const all = [target("x", { excluded: "was paused by an operator" }), target("b", { place: 2 }), target("a", { place: 1 })];
  expect(inOrder(all).map((t) => t.target)).toEqual(["a", "b", "x"]);
});
