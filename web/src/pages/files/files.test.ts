import { expect, test } from "vitest";
import { downloadable, isoOf, likelyPurpose } from "./file";
import { partsOf } from "./upload";

test("parts cover a file without a gap", () => {
  expect(partsOf(10, 4)).toEqual([
    { from: 0, to: 4 },
    { from: 4, to: 8 },
    { from: 8, to: 10 },
  ]);
  expect(partsOf(8, 4)).toHaveLength(2);
  expect(partsOf(0, 4)).toEqual([{ from: 0, to: 0 }]);
});

test("the purpose follows from the name", () => {
  expect(likelyPurpose("night.JSONL")).toBe("batch");
  expect(likelyPurpose("a.jpeg")).toBe("vision");
  expect(likelyPurpose("handbook.pdf")).toBe("user_data");
});

test("files for requests are never sent back", () => {
  expect(downloadable({ purpose: "batch_output" })).toBe(true);
  expect(downloadable({ purpose: "vision" })).toBe(false);
  expect(isoOf(0)).toBe("1970-01-01T00:00:00.000Z");
});
