import type { ReactNode } from "react";

/** Content with the gutter of a page, one block under the other. */
export function PageBody({ children }: { children: ReactNode }) {
  return <div className="flex flex-col gap-4 px-4 pb-6 md:px-6">{children}</div>;
}

/** Main content and the right pane of 336 px, which drops below under 1100 px. */
export function WithPane({ children, pane }: { children: ReactNode; pane: ReactNode }) {
  return (
    <div className="flex flex-1 flex-col border-t border-line lg:flex-row">
      <div className="min-w-0 flex-1">{children}</div>
      <aside aria-label="Details" className="shrink-0 border-line bg-sunken max-lg:border-t lg:w-[336px] lg:border-l">
        {pane}
      </aside>
    </div>
  );
}
