import { expect, test } from "vitest";
import { answerText } from "./job";

test("the text of an answer in each dialect", () => {
  expect(answerText({ choices: [{ message: { content: "chat" } }] })).toBe("chat");
  expect(answerText({ choices: [{ message: { content: [{ type: "text", text: "pa" }, { text: "rts" }] } }] })).toBe("parts");
  expect(answerText({ choices: [{ text: "completion" }] })).toBe("completion");
  expect(answerText({ content: [{ type: "text", text: "message" }, { type: "tool_use" }] })).toBe("message");
  expect(answerText({ output: [{ type: "reasoning" }, { content: [{ text: "re" }, { text: "sponse" }] }] })).toBe("response");
  expect(answerText({ data: [{ embedding: [1] }] })).toBeNull();
  expect(answerText(null)).toBeNull();
});
