import { type ReactNode, useEffect, useRef } from "react";
import { useMedia } from "@/hooks/media";

/** Content with the gutter of a page, one block under the other. */
export function PageBody({ children }: { children: ReactNode }) {
  return <div className="flex flex-col gap-4 px-4 pb-6 md:px-6">{children}</div>;
}

/**
 * A list, and the pane of its current row. Each scrolls by itself; under 1100 px the pane stands below the list, and comes into view when `shows`
 * changes: the id of what it shows.
 */
export function ListWithPane({
  children,
  pane,
  label,
  shows,
}: {
  children: ReactNode;
  pane: ReactNode;
  label: string;
  shows?: string | undefined;
}) {
  const aside = useRef<HTMLElement>(null);
  const below = useMedia("(max-width: 1099.9px)");
  const before = useRef(shows);
  useEffect(() => {
    if (below && shows && shows !== before.current) aside.current?.scrollIntoView({ block: "start" });
    before.current = shows;
  }, [below, shows]);
  return (
    <div className="-mt-px flex min-h-0 flex-1 flex-col max-lg:flex-none lg:flex-row">
      <div className="flex min-h-0 min-w-0 flex-1 flex-col max-lg:flex-none">{children}</div>
      {pane && (
        <aside
          ref={aside}
          aria-label={label}
          className="min-w-0 shrink-0 border-t border-line bg-sunken lg:w-[440px] lg:overflow-y-auto lg:border-l xl:w-[480px]"
        >
          {pane}
        </aside>
      )}
    </div>
  );
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
