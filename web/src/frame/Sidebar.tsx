import { Link, useRouterState } from "@tanstack/react-router";
import { PanelLeft } from "lucide-react";
import { type Hue, hueText } from "@/components/Chip";
import { cn } from "@/components/cn";
import { Tip } from "@/components/Tooltip";
import { usePreferences } from "@/hooks/preferences";
import { useTenant } from "@/routes";
import { rolesIn, useMe } from "@/session";
import { useBadges } from "./badges";
import { Logo } from "./Logo";
import { hrefOf, type NavPage, navPages, type Section, sectionTitles, visiblePages } from "./navigation";
import { useRail } from "./useRail";

const sections: Section[] = ["top", "work", "build", "serve", "govern", "bottom"];

/** The tenant for links from an all-tenant page to pages that need one. */
export function useLastTenant(): string {
  const me = useMe();
  const { tenant } = usePreferences();
  return me.tenants.some((t) => t.id === tenant) ? tenant : (me.tenants[0]?.id ?? "default");
}

/** The pages that the person sees here. */
export function useVisiblePages(): NavPage[] {
  const me = useMe();
  return visiblePages(navPages, me.features, rolesIn(me, useTenant()), rolesIn(me, null));
}

export function Sidebar({ rail, onNavigate }: { rail: boolean; onNavigate?: () => void }) {
  const pages = useVisiblePages();
  const { toggle } = useRail();
  return (
    <div className={cn("flex h-full flex-col border-r border-line bg-canvas", rail ? "w-[52px]" : "w-[216px]")}>
      <div className={cn("flex h-12 shrink-0 items-center gap-2", rail ? "justify-center" : "px-4")}>
        <Logo />
        {!rail && <span className="flex-1 text-14 font-semibold">Penstock</span>}
        {!rail && !onNavigate && (
          <Tip text="Collapse the sidebar" hint="[">
            <button
              type="button"
              aria-label="Collapse the sidebar"
              onClick={toggle}
              className="-mr-1.5 inline-flex size-7 items-center justify-center rounded-control text-ink-3 hover:bg-hover"
            >
              <PanelLeft aria-hidden className="size-4" strokeWidth={1.75} />
            </button>
          </Tip>
        )}
      </div>
      <nav aria-label="Pages" className="flex min-h-0 flex-1 flex-col overflow-y-auto px-2 pb-2">
        {sections.map((section) => {
          const inside = pages.filter((p) => p.section === section);
          if (inside.length === 0) return section === "bottom" ? null : null;
          return (
            <div
              key={section}
              className={cn("flex flex-col", section === "bottom" ? "mt-auto pt-4" : section !== "top" && (rail ? "mt-3" : "mt-4"))}
            >
              {sectionTitles[section] && !rail && <h2 className="mb-1 px-2 text-12 font-medium text-ink-3">{sectionTitles[section]}</h2>}
              {inside.map((page) => (
                <NavLink key={page.id} page={page} rail={rail} onNavigate={onNavigate} />
              ))}
            </div>
          );
        })}
      </nav>
    </div>
  );
}

function NavLink({ page, rail, onNavigate }: { page: NavPage; rail: boolean; onNavigate: (() => void) | undefined }) {
  const tenant = useTenant();
  const href = hrefOf(page, tenant, useLastTenant());
  const path = useRouterState({ select: (s) => s.location.pathname });
  const active = page.path === "" ? path === href : path === href || path.startsWith(`${href}/`);
  const badge = useBadges()[page.id];
  const link = (
    <Link
      to={href as "/"}
      aria-current={active ? "page" : undefined}
      {...(onNavigate ? { onClick: onNavigate } : {})}
      className={cn(
        "relative flex h-7 items-center gap-2.5 rounded-control border text-13",
        rail ? "w-9 justify-center" : "px-2",
        active ? "border-line bg-surface font-medium text-ink" : "border-transparent text-ink-2 hover:bg-hover hover:text-ink",
      )}
    >
      <page.icon aria-hidden className={cn("size-4 shrink-0", active ? "text-accent" : "text-ink-3")} strokeWidth={1.75} />
      {rail ? <span className="sr-only">{page.title}</span> : <span className="flex-1 truncate">{page.title}</span>}
      {badge && !rail && <span className={cn("num text-12", hueText[badge.hue])}>{badge.text}</span>}
      {badge && rail && <RailDot hue={badge.hue} />}
    </Link>
  );
  return rail ? (
    <Tip text={page.title} side="right">
      {link}
    </Tip>
  ) : (
    link
  );
}

const dots: Record<Hue, string> = {
  slate: "bg-slate-solid",
  water: "bg-water-solid",
  green: "bg-green-solid",
  red: "bg-red-solid",
  amber: "bg-amber-solid",
  violet: "bg-violet-solid",
};

function RailDot({ hue }: { hue: Hue }) {
  return <span aria-hidden className={cn("absolute top-0.5 right-1 size-[5px] rounded-full", dots[hue])} />;
}
