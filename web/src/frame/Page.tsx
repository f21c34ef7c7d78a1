import type { ReactNode } from "react";
import { cn } from "@/components/cn";

/** Content with the gutter of a page, one block under the other. */
export function PageBody({ children }: { children: ReactNode }) {
  return <div className="flex flex-col gap-4 px-4 pb-6 md:px-6">{children}</div>;
}

/** Main content and the right pane of 336 px, or of 480 px for a pane with a text, which drops below under 1100 px. */
export function WithPane({ children, pane, wide }: { children: ReactNode; pane: ReactNode; wide?: boolean }) {
  return (
    <div className="flex min-h-0 flex-1 flex-col border-t border-line lg:flex-row">
      <div className="min-w-0 flex-1">{children}</div>
      <aside
        aria-label="Details"
        className={cn("shrink-0 overflow-y-auto border-line bg-sunken max-lg:border-t lg:border-l", wide ? "lg:w-[480px]" : "lg:w-[336px]")}
      >
        {pane}
      </aside>
    </div>
  );
}
