import { RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView } from "@codemirror/view";

/** A problem of the text, at a line that counts from 1. */
export interface Problem {
  line: number;
  message: string;
}

export const setProblems = StateEffect.define<readonly Problem[]>();

/** Marks the lines that have a problem, until the text changes. */
export const problemLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setProblems)) continue;
      const { doc } = transaction.state;
      const lines = [...new Set(effect.value.map((p) => p.line))].filter((n) => n >= 1 && n <= doc.lines).sort((a, b) => a - b);
      const builder = new RangeSetBuilder<Decoration>();
      for (const line of lines) {
        const title = effect.value.filter((p) => p.line === line).map((p) => p.message);
        builder.add(
          doc.line(line).from,
          doc.line(line).from,
          Decoration.line({ class: "cm-problem", attributes: { title: title.join("\n") } }),
        );
      }
      return builder.finish();
    }
    return transaction.docChanged ? Decoration.none : marks;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Puts the cursor at a line and shows it. */
export function goToLine(view: EditorView, line: number): void {
  const at = view.state.doc.line(Math.min(Math.max(1, line), view.state.doc.lines)).from;
  view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
  view.focus();
}
