import { expect, test } from "vitest";
import { follow, type JobEvent } from "./events";

test("deltas lengthen the text of their item, a reset makes it void", () => {
  const texts = new Map<string, string>();
  const add = (type: string, item: string | null, text?: string) =>
    follow(texts, { type, item_id: item, data: text === undefined ? null : { text } } as JobEvent);
  add("job.started", null);
  add("item.delta", "a", "Hel");
  add("item.delta", "b", "x");
  add("item.delta", "a", "lo");
  expect(texts.get("a")).toBe("Hello");
  add("item.reset", "a");
  add("item.delta", "a", "Again");
  expect([...texts]).toEqual([
    ["b", "x"],
    ["a", "Again"],
  ]);
});
