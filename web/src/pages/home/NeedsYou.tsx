import { Link } from "@tanstack/react-router";
import { CircleCheck } from "lucide-react";
import type { Schemas } from "@/api";
import { Card } from "@/components/Card";
import { Chip } from "@/components/Chip";
import { Skeleton } from "@/components/Skeleton";
import { StateGlyph } from "@/components/StateGlyph";
import { formatCount } from "@/format";
import { hrefOf } from "@/frame/navigation";
import { useLastTenant, useVisiblePages } from "@/frame/Sidebar";
import type { Need } from "@/needs/needs";
import { useNeeds } from "@/needs/useNeeds";
import { useTenant } from "@/routes";

const shownAtMost = 8;

/** Everything that waits for a person; each line leads to the page that acts. */
export function NeedsYou({ tenant, deadLetters }: { tenant: string | null; deadLetters: Schemas["Unresolved"] | undefined }) {
  const needs = useNeeds(tenant);
  const all = needs && tenant === null ? [...needs, ...unresolved(deadLetters)] : needs;
  return (
    <Card title="Needs you" note={all && all.length > 0 ? <Chip>{all.length}</Chip> : undefined}>
      {all === undefined ? (
        <div className="flex flex-col gap-3 p-3.5">
          <Skeleton className="w-3/4" />
          <Skeleton className="w-1/2" />
        </div>
      ) : all.length === 0 ? (
        <p className="flex items-center gap-2 px-3.5 py-4 text-ink-2">
          <CircleCheck aria-hidden className="size-4 text-green" strokeWidth={1.75} />
          Nothing waits for a person.
        </p>
      ) : (
        <ul>
          {all.slice(0, shownAtMost).map((n) => (
            <NeedRow key={n.id} need={n} />
          ))}
          {all.length > shownAtMost && <li className="px-3.5 py-2 text-12 text-ink-3">and {all.length - shownAtMost} more</li>}
        </ul>
      )}
    </Card>
  );
}

/** The dead letters of all tenants: their pages are those of the tenants, listed beside. */
function unresolved(count: Schemas["Unresolved"] | undefined): Need[] {
  if (!count || count.count === 0) return [];
  return [
    {
      id: "dead-letters",
      page: "dead-letters",
      count: count.count,
      urgent: true,
      state: "failed",
      title: `${formatCount(count.count)}${count.at_least ? "+" : ""} ${count.count === 1 ? "dead letter" : "dead letters"} in all tenants`,
      note: "The list of tenants shows where",
    },
  ];
}

const verbs: Record<string, string> = { "dead-letters": "Retry", queues: "Resume", usage: "Adjust" };

function NeedRow({ need: n }: { need: Need }) {
  const tenant = useTenant();
  const last = useLastTenant();
  const page = useVisiblePages().find((p) => p.id === n.page);
  const leads = page && (tenant !== null || page.allPath !== undefined);
  return (
    <li className="flex items-center gap-3 border-b border-line px-3.5 py-2 last:border-b-0">
      <StateGlyph state={n.state} />
      <div className="min-w-0 flex-1">
        <p className="truncate font-medium" title={n.title}>
          {n.title}
        </p>
        <p className="truncate text-12 text-ink-3" title={n.note}>
          {n.note}
        </p>
      </div>
      {leads && (
        <Link
          to={hrefOf(page, tenant, last) as "/"}
          aria-label={`${verbs[n.page] ?? "Open"}: ${n.title}`}
          className="inline-flex h-[26px] shrink-0 items-center rounded-control border border-line-2 bg-surface px-2.5 text-12 font-medium hover:bg-hover"
        >
          {verbs[n.page] ?? "Open"}
        </Link>
      )}
    </li>
  );
}
