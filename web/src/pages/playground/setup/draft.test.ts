import { expect, test } from "vitest";
import { loadDraft, saveDraft } from "./draft";
import { addColumn, firstEditor } from "./editor";
import { sameSetup } from "./setup";

function storage(most = 1e6) {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (name: string) => values.get(name) ?? null,
    setItem: (name: string, value: string) => {
      if (value.length > most) throw new DOMException("full", "QuotaExceededError");
      values.set(name, value);
    },
  };
}

test("a setup comes back with keys of its own", () => {
  const kept = storage();
  const editor = addColumn(firstEditor());
  expect(saveDraft("demo", { editor, run: "prun_1" }, kept)).toBe(true);
  const draft = loadDraft("demo", kept);
  expect(draft?.run).toBe("prun_1");
  expect(draft && sameSetup(draft.editor, editor)).toBe(true);
  expect(draft?.editor.columns.some((c) => editor.columns.some((old) => old.key === c.key))).toBe(false);
  expect(loadDraft("other", kept)).toBeNull();
});

test("a full storage and a broken entry are no errors", () => {
  expect(saveDraft("demo", { editor: firstEditor(), run: null }, storage(10))).toBe(false);
  const broken = storage();
  broken.values.set("penstock.playground.demo", "{");
  expect(loadDraft("demo", broken)).toBeNull();
  broken.values.set("penstock.playground.demo", '{"editor":{"columns":[]}}');
  expect(loadDraft("demo", broken)).toBeNull();
});
