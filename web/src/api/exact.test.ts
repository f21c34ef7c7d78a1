import { expect, test } from "vitest";
import { parseExact, printExact } from "./exact";

test("integers above 2^53 are printed as they were read", () => {
  const text = '{"seed":9007199254740993,"low":-9223372036854775808,"list":[1,18446744073709551615],"text":"9007199254740993 \\"1\\" {"}';
  expect(printExact(parseExact(text))).toBe(text);
  expect(parseExact(printExact(parseExact(text), 2))).toEqual(parseExact(text));
});

test("all other JSON is parsed as ever", () => {
  const text = '{"a":9007199254740991,"b":0.25,"c":1e300,"d":"\\\\","e":[true,null,-1]}';
  expect(parseExact(text)).toEqual(JSON.parse(text));
  expect(() => parseExact('{"seed": 9007199254740993')).toThrow(SyntaxError);
});
