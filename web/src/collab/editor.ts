import { defaultKeymap, historyKeymap } from "@codemirror/commands";
import { type Extension, type Range, RangeSet } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, keymap, ViewPlugin, type ViewUpdate, WidgetType } from "@codemirror/view";
import { problemLines } from "@/components/editor/problems";
import { template } from "@/components/editor/template";
import { editorTheme } from "@/components/editor/theme";
import { colourOf, colours } from "./colour";
import { type Cursor, marks } from "./marks";

class CursorWidget extends WidgetType {
  constructor(readonly cursor: Cursor) {
    super();
  }

  override eq(other: CursorWidget): boolean {
    return other.cursor.client === this.cursor.client && other.cursor.name === this.cursor.name;
  }

  override toDOM(): HTMLElement {
    const caret = document.createElement("span");
    caret.className = `cm-person cm-person-${colourOf(this.cursor.person)}`;
    // The name is an attribute that the style shows: as text it would be read, copied and found as a part of the prompt.
    caret.setAttribute("aria-hidden", "true");
    caret.dataset.name = this.cursor.name;
    return caret;
  }

  override get estimatedHeight(): number {
    return -1;
  }

  override ignoreEvent(): boolean {
    return true;
  }
}

function decorate(view: EditorView): DecorationSet {
  const { cursors, comments } = view.state.field(marks);
  const length = view.state.doc.length;
  const all: Range<Decoration>[] = [];
  for (const c of comments) {
    if (c.from < c.to && c.to <= length)
      all.push(Decoration.mark({ class: "cm-comment-range", attributes: { "data-comment": c.id } }).range(c.from, c.to));
  }
  for (const c of cursors) {
    const [from, to] = [Math.min(c.anchor, c.head, length), Math.min(Math.max(c.anchor, c.head), length)];
    if (from < to) all.push(Decoration.mark({ class: `cm-person-selection cm-person-${colourOf(c.person)}` }).range(from, to));
    all.push(Decoration.widget({ widget: new CursorWidget(c), side: 1 }).range(Math.min(c.head, length)));
  }
  return RangeSet.of(all, true);
}

/** Shows the cursors and selections of others, and the ranges of comments. */
const shownMarks = ViewPlugin.fromClass(
  class {
    decorations: DecorationSet;

    constructor(view: EditorView) {
      this.decorations = decorate(view);
    }

    update(update: ViewUpdate): void {
      if (update.docChanged || update.startState.field(marks) !== update.state.field(marks)) this.decorations = decorate(update.view);
    }
  },
  { decorations: (plugin) => plugin.decorations },
);

const people = Object.fromEntries(
  colours.map((c) => [
    `.cm-person-${c}`,
    { "--person": `var(--${c}-solid)`, "--person-tint": `var(--${c}-tint)`, "--person-ink": `var(--${c})` },
  ]),
);

const look = EditorView.theme({
  ...people,
  ".cm-person": { position: "relative", borderLeft: "2px solid var(--person)", marginLeft: "-1px", marginRight: "-1px" },
  ".cm-person::after": {
    content: "attr(data-name)",
    position: "absolute",
    bottom: "100%",
    left: "-2px",
    padding: "0 4px",
    borderRadius: "3px 3px 3px 0",
    border: "1px solid var(--person)",
    backgroundColor: "var(--person-tint)",
    color: "var(--person-ink)",
    fontFamily: '"Inter Variable", system-ui, sans-serif',
    fontSize: "10px",
    lineHeight: "14px",
    whiteSpace: "nowrap",
    pointerEvents: "none",
    zIndex: "5",
  },
  ".cm-line:first-child .cm-person::after": { bottom: "auto", top: "100%", borderRadius: "0 3px 3px 3px" },
  ".cm-person-selection": { backgroundColor: "var(--person-tint)", boxShadow: "inset 0 -1px var(--person)" },
  ".cm-comment-range": { backgroundColor: "var(--amber-tint)", borderBottom: "1px dashed var(--amber-solid)" },
});

/** What an editor of a shared text has beside the document: keys, marks, looks. Undo takes back the person's own changes alone. */
export function sharedEditor(label: string, writes: boolean): Extension {
  return [
    shownMarks,
    look,
    template,
    problemLines,
    ...editorTheme,
    EditorView.lineWrapping,
    EditorView.editable.of(writes),
    EditorView.contentAttributes.of({
      "aria-label": label,
      "aria-multiline": "true",
      ...(writes ? {} : { tabindex: "0", "aria-readonly": "true" }),
    }),
    // The clipboard of Windows has carriage returns, which the texts of prompts do not want.
    EditorView.clipboardInputFilter.of((text) => text.replace(/\r\n?/g, "\n")),
    keymap.of([...historyKeymap, ...defaultKeymap]),
  ];
}
