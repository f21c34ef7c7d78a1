import { expect, test } from "vitest";
import { listIn, oneOf, parseSearch, present, stringifySearch, textIn } from "./search";

test("parameters come back as they were written", () => {
  const text = "?status=failed&tag=env:prod&id=0123&x=1&x=2";
  const search = parseSearch(text);
  expect(search).toEqual({ status: "failed", tag: "env:prod", id: "0123", x: ["1", "2"] });
  expect(stringifySearch(search)).toBe(text);
});

test("absent and empty parameters leave no trace", () => {
  expect(stringifySearch({ a: undefined, b: "", c: null })).toBe("");
});

test("markup stays text", () => {
  const search = parseSearch(stringifySearch({ q: '<img src=x onerror="alert(1)">&a=b' }));
  expect(search).toEqual({ q: '<img src=x onerror="alert(1)">&a=b' });
});

test("readers of parameters", () => {
  const search = parseSearch("?lane=bulk&columns=a,b,&x=1&x=2");
  expect(oneOf(search, "lane", ["bulk", "standard"])).toBe("bulk");
  expect(oneOf(search, "lane", ["standard"])).toBeUndefined();
  expect(listIn(search, "columns")).toEqual(["a", "b"]);
  expect(textIn(search, "x")).toBeUndefined();
  expect(present({ a: 1, b: undefined })).toEqual({ a: 1 });
});
