import { expect, test } from "vitest";
import { priceRange, priceText } from "./Price";

test("prices keep the digits of the server", () => {
  expect(priceText("0.075")).toBe("$0.075");
  expect(priceText("3")).toBe("$3.00");
  expect(priceText(undefined)).toBe("–");
});

test("several targets are a range", () => {
  expect(priceRange([])).toBe("–");
  expect(priceRange(["3", undefined, "3.0"])).toBe("$3.00");
  expect(priceRange(["0.88", "0.12"])).toBe("$0.12–0.88");
});
