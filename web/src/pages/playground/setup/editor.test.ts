import { expect, test } from "vitest";
import type { Setup } from "../api";
import {
  addColumn,
  addRow,
  copySettings,
  firstEditor,
  maxColumns,
  promptEditor,
  removeColumn,
  removeRow,
  setVariable,
  withColumn,
  withRows,
} from "./editor";
import { editedMessages, sentMessages } from "./messages";
import { editorOf, sameSetup, setupOf } from "./setup";
import { fieldsOfTemplates } from "./variables";

const fields = fieldsOfTemplates(["{{question}}"], []);

test("the first setup can run as it is", () => {
  const made = setupOf(withColumn(firstEditor(), 0, { model: "fast" }), fields);
  expect(made.problem).toBeNull();
  expect(made.setup).toMatchObject({
    rows: [{ question: "What is a penstock?" }],
    trials: 1,
    columns: [
      { prompt: null, model: "fast", content: { kind: "chat", messages: [{ role: "system" }, { role: "user", content: "{{question}}" }] } },
    ],
  });
});

test("columns are copied up to four, and one stays", () => {
  let editor = firstEditor();
  for (let i = 0; i < 6; i++) editor = addColumn(editor);
  expect(editor.columns).toHaveLength(maxColumns);
  expect(new Set(editor.columns.map((c) => c.key)).size).toBe(maxColumns);
  for (let i = 0; i < 6; i++) editor = removeColumn(editor, 0);
  expect(editor.columns).toHaveLength(1);
});

test("settings of a column for all columns", () => {
  const two = addColumn(withColumn(firstEditor(), 0, { params: { seed: 7 }, model: "a" }));
  const changed = copySettings(withColumn(two, 1, { params: { temperature: 1 }, model: "b" }), 1);
  expect(changed.columns.map((c) => [c.params, c.model])).toEqual([
    [{ temperature: 1 }, "a"],
    [{ temperature: 1 }, "b"],
  ]);
});

test("rows: the last one stays, the shown one exists", () => {
  let editor = setVariable(addRow(firstEditor()), "question", "Second?");
  expect(editor.rows.map((r) => r.question)).toEqual(["What is a penstock?", "Second?"]);
  editor = removeRow(editor, 1);
  expect(editor.row).toBe(0);
  expect(removeRow(editor, 0).rows).toEqual([{}]);
  expect(withRows(editor, []).rows).toEqual([{}]);
});

test("a setup names the row of a problem, and the bound of calls", () => {
  const editor = addRow(firstEditor());
  expect(setupOf(editor, fields).problem).toBe("Row 2: question is missing.");
  const many = withRows(
    editor,
    Array.from({ length: 200 }, () => ({ question: "?" })),
  );
  expect(setupOf({ ...many, trials: 3 }, fields).problem).toBe("These are 600 calls. A run has at most 400.");
});

test("a stored setup comes back as it was", () => {
  const editor = addColumn(withColumn(promptEditor({ name: "support/answer", version: 7 }), 0, { params: { seed: 1 } }));
  const made = setupOf(setVariable(editor, "question", "Why?"), fields);
  const again = editorOf(made.setup as Setup);
  expect(setupOf(again, fields)).toEqual(made);
  expect(sameSetup(again, editorOf(made.setup as Setup))).toBe(true);
  expect(sameSetup(again, addColumn(again))).toBe(false);
  const order = (params: object) => withColumn(again, 0, { params: params as Record<string, unknown> });
  expect(sameSetup(order({ a: 1, b: 2 }), order({ b: 2, a: 1 }))).toBe(true);
});

test("messages keep images, placeholders and members that the editor does not show", () => {
  const messages = [
    {
      role: "user",
      content: [
        { type: "text", text: "See" },
        { type: "image_url", image_url: { url: "{{photo}}", detail: "low" } },
      ],
    },
    { placeholder: "history" },
    { role: "assistant", content: "", tool_calls: [{ id: "1" }] },
  ];
  expect(sentMessages(editedMessages(messages))).toEqual(messages);
});
