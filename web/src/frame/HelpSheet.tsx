import { Link } from "@tanstack/react-router";
import { BookOpen } from "lucide-react";
import { Dialog } from "@/components/Dialog";
import { Kbd } from "@/components/Kbd";
import { modKey } from "@/hooks/shortcuts";
import { useVisiblePages } from "./Sidebar";

const groups: { title: string; keys: [string, string][] }[] = [
  {
    title: "Everywhere",
    keys: [
      [`${modKey} K`, "Search or jump to a page, an id, a tenant or an action"],
      ["[", "Collapse or open the sidebar"],
      ["?", "This sheet"],
      ["Tab", "Next control; the first one skips to the page"],
      ["Esc", "Close the dialog, the menu or the pane"],
    ],
  },
  {
    title: "Lists",
    keys: [
      ["/", "Filter"],
      ["J K", "Next and previous row"],
      ["↑ ↓", "The same, while the list has the focus"],
      ["X", "Select the row"],
      ["Space", "Peek"],
      ["↵", "Open"],
      ["Esc", "Clear the selection"],
    ],
  },
  {
    title: "Page",
    keys: [
      ["T", "Time range"],
      ["L", "Live or paused"],
      [`${modKey} ↵`, "Run or submit"],
    ],
  },
];

/** All shortcuts. They are silent while a person types, and can be turned off in the account menu. */
export function HelpSheet({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const pages = useVisiblePages().flatMap((p): [string, string][] => (p.key ? [[`G ${p.key.toUpperCase()}`, p.title]] : []));
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      title="Shortcuts"
      description="They are silent while you type. The account menu turns them off."
      wide
      footer={
        <Link
          to="/docs"
          onClick={() => onOpenChange(false)}
          className="mr-auto inline-flex items-center gap-2 font-medium text-accent hover:underline"
        >
          <BookOpen aria-hidden className="size-4" strokeWidth={1.75} />
          API reference
        </Link>
      }
    >
      <div className="grid gap-6 pb-3 md:grid-cols-2">
        {[...groups, { title: "Go to", keys: pages }].map((group) => (
          <section key={group.title}>
            <h3 className="mb-1 text-12 font-medium text-ink-3">{group.title}</h3>
            <dl>
              {group.keys.map(([keys, what]) => (
                <div key={keys} className="flex min-h-7 items-center gap-3">
                  <dt className="flex w-20 gap-1">
                    {keys.split(" ").map((key) => (
                      <Kbd key={key}>{key}</Kbd>
                    ))}
                  </dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  );
}
