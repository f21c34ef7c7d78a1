import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { cn } from "@/components/cn";
import { hrefOf } from "@/frame/navigation";
import { useLastTenant, useVisiblePages } from "@/frame/Sidebar";
import { useTenant } from "@/routes";

/** The link at the right end of a card's head; nothing where the binary or the role has no such page. */
export function CardLink({ page, children }: { page: string; children: ReactNode }) {
  const tenant = useTenant();
  const last = useLastTenant();
  const found = useVisiblePages().find((p) => p.id === page);
  if (!found || (tenant === null && found.allPath === undefined)) return null;
  return (
    <Link to={hrefOf(found, tenant, last) as "/"} className="text-12 font-medium text-accent hover:text-accent-hover">
      {children}
    </Link>
  );
}

/** A short table inside a card. Long lists are a DataTable. */
export function SimpleTable({ label, children }: { label: string; children: ReactNode }) {
  return (
    <table aria-label={label} className="w-full table-auto text-13">
      {children}
    </table>
  );
}

/** `wide` columns hide on phones. */
export function CellHead({ children, right, wide }: { children: ReactNode; right?: boolean; wide?: boolean }) {
  return (
    <th
      scope="col"
      className={cn(
        "px-3.5 py-1.5 text-12 font-normal whitespace-nowrap text-ink-3",
        right ? "text-right" : "text-left",
        wide && "max-md:hidden",
      )}
    >
      {children}
    </th>
  );
}

export function Cell({ children, right, wide }: { children: ReactNode; right?: boolean; wide?: boolean }) {
  return <td className={cn("px-3.5 py-1.5 whitespace-nowrap", right && "num text-right", wide && "max-md:hidden")}>{children}</td>;
}
