import { expect, test } from "vitest";
import { comparedWords, looksLikeJSON, piecesOfAnswer } from "./words";

const joined = (pieces: { text: string }[]) => pieces.map((p) => p.text).join("");

test("plain text is one piece", () => {
  expect(piecesOfAnswer("Hello, you.", null)).toEqual([{ text: "Hello, you.", look: "plain", differs: false }]);
  expect(piecesOfAnswer("", null)).toEqual([]);
});

test("JSON has looks, complete or not", () => {
  const text = '{\n  "priority": "P2",\n  "refund": 184.00, "ok": true}';
  const pieces = piecesOfAnswer(text, null);
  expect(joined(pieces)).toBe(text);
  expect(pieces.filter((p) => p.look === "string").map((p) => p.text)).toEqual(['"P2"']);
  expect(pieces.filter((p) => p.look === "value").map((p) => p.text)).toEqual(["184.00", "true"]);
  const cut = '{"reply": "I have req';
  expect(joined(piecesOfAnswer(cut, null))).toBe(cut);
  expect(looksLikeJSON("{name} is missing")).toBe(false);
  expect(looksLikeJSON("[")).toBe(true);
});

test("words that the compared answer lacks are marked", () => {
  const pieces = piecesOfAnswer("The order was refunded on Monday.", "The order was shipped on Monday.");
  expect(pieces.filter((p) => p.differs).map((p) => p.text)).toEqual(["refunded"]);
  expect(joined(pieces)).toBe("The order was refunded on Monday.");
  expect(piecesOfAnswer("Same.", "Same.").some((p) => p.differs)).toBe(false);
});

test("a phrase has one mark; white space alone has none", () => {
  const marked = (text: string, compared: string) =>
    piecesOfAnswer(text, compared)
      .filter((p) => p.differs)
      .map((p) => p.text);
  expect(marked("Thank you for sending the file.", "Sorry for that, the file.")).toEqual(["Thank you for sending"]);
  expect(marked("one\n  two", "one two")).toEqual([]);
  expect(marked('{"priority": "P2", "ok": true}', '{"priority":"P3","ok":true}')).toEqual(['"P2"']);
});

test("answers that are too long to compare have no marks", () => {
  const a = Array.from({ length: 50 }, (_, i) => `a${i}`).join(" ");
  const b = Array.from({ length: 50 }, (_, i) => `b${i}`).join(" ");
  expect(piecesOfAnswer(b, a, 20).some((p) => p.differs)).toBe(false);
});

test("two answers as one text", () => {
  expect(comparedWords("It is late.", "It was late.")).toEqual([
    { kind: "same", text: "It " },
    { kind: "del", text: "is" },
    { kind: "add", text: "was" },
    { kind: "same", text: " late." },
  ]);
});
