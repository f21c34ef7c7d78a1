import { expect, test } from "vitest";
import { maxRows, readRows, recordsOf } from "./rows";
import { fieldsOfSchema } from "./variables";

const fields = fieldsOfSchema({ properties: { question: { type: "string" }, days: { type: "integer" } }, required: ["question"] });

test("records of CSV: quotes, line breaks, empty fields", () => {
  const { records } = recordsOf('a,b\n"x, ""y""\nz",2\r\n\n,\nlast,', ",");
  expect(records).toEqual([
    { line: 1, fields: ["a", "b"] },
    { line: 2, fields: ['x, "y"\nz', "2"] },
    { line: 5, fields: ["", ""] },
    { line: 6, fields: ["last", ""] },
  ]);
  expect(recordsOf('a\n"open', ",").problems).toEqual([{ line: 2, message: "A quote is opened and never closed." }]);
  expect(recordsOf("", ",").records).toEqual([]);
});

test("rows of a CSV file, with a problem for each line that is none", () => {
  const read = readRows("rows.csv", "question,days,note\nWhy?,14,x\nHow?,soon,x\nshort\n,2,x\n", fields);
  expect(read.rows).toEqual([
    { line: 2, row: { question: "Why?", days: "14" } },
    { line: 5, row: { question: "", days: "2" } },
  ]);
  expect(read.problems).toEqual([
    { line: 3, message: "days is not a number" },
    { line: 4, message: "The row has 1 fields, and the head has 3." },
  ]);
  expect(read.unknown).toEqual(["note"]);
  expect(readRows("rows.csv", "question;days\nWhy, now?;3", fields).rows).toEqual([{ line: 2, row: { question: "Why, now?", days: "3" } }]);
});

test("a head with a mistake is one problem", () => {
  expect(readRows("a.csv", "", fields).problems).toEqual([{ line: 1, message: "The file is empty." }]);
  expect(readRows("a.csv", "question,question\na,b", fields).problems[0]?.message).toBe("The head has question twice.");
  expect(readRows("a.csv", "question,,\na,b,c", fields).problems[0]?.message).toBe("A column of the head has no name.");
});

test("rows of JSONL and of a JSON list", () => {
  const lines = '\uFEFF{"question":"Why?","days":14}\n\n[1]\n{"days":1}\n{broken\n';
  const read = readRows("rows.jsonl", lines, fields);
  expect(read.rows).toEqual([{ line: 1, row: { question: "Why?", days: "14" } }]);
  expect(read.problems.map((p) => p.line)).toEqual([3, 4, 5]);
  expect(read.problems[1]?.message).toBe("question is missing");
  expect(readRows("rows.json", '[{"question":"Why?"},7]', fields).rows).toHaveLength(1);
  expect(readRows("rows.json", "[", fields).problems[0]?.message).toMatch(/not JSON/);
});

test("a file with too many rows is cut, and says so", () => {
  const text = Array.from({ length: maxRows + 1 }, (_, i) => JSON.stringify({ question: String(i) })).join("\n");
  const read = readRows("rows.jsonl", text, fields);
  expect(read.rows).toHaveLength(maxRows);
  expect(read.cut).toBe(true);
});
