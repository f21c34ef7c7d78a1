import { expect, test } from "vitest";
import { PageStart } from "./query";

test("the starts of pages know their rows, also behind a page without rows", () => {
  const first = new PageStart("", 0, undefined);
  const second = first.next({ data: [{ id: "a" }, { id: "b" }], has_more: true, next_after: "b" });
  const third = second?.next({ data: [], has_more: true, next_after: "c" });
  expect([third?.after, third?.row]).toEqual(["c", 2]);
  expect(third?.next({ data: [{ id: "d" }], has_more: false, next_after: null })).toBeUndefined();
  expect(first.next({ data: [{ id: "a" }], has_more: true })?.after).toBe("a");
});

test("a jump finds the page of a row", () => {
  let start = new PageStart("", 0, undefined);
  for (let i = 1; i < 10_000; i++) start = new PageStart(`id${i}`, i * 100, start);
  expect(start.pageOf(0).after).toBe("");
  expect(start.pageOf(512_345).after).toBe("id5123");
  expect(start.pageOf(999_999).after).toBe("id9999");
});
