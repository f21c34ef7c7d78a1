import { expect, test } from "vitest";
import { stackUp } from "./stack";

test("series stand on each other", () => {
  expect(
    stackUp([
      [1, 2, null],
      [10, null, 30],
    ]),
  ).toEqual([
    [1, 2, 0],
    [11, 2, 30],
  ]);
  expect(stackUp([])).toEqual([]);
});
