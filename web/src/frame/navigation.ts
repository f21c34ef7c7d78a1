import {
  ArrowLeftRight,
  Boxes,
  ChartColumnStacked,
  Files,
  FlaskConical,
  Gauge,
  House,
  KeyRound,
  Layers,
  ListChecks,
  type LucideIcon,
  MailX,
  MessageSquareText,
  ScrollText,
  Settings,
  Telescope,
  Users,
  Webhook,
} from "lucide-react";

import type { Role } from "@/session";

export type Section = "top" | "work" | "build" | "serve" | "govern" | "bottom";

export interface NavPage {
  id: string;
  title: string;
  section: Section;
  icon: LucideIcon;
  /** Its path in a tenant: `""` is `/t/{tenant}`, `"jobs"` is `/t/{tenant}/jobs`. Absent: the page is only over all tenants. */
  path?: string;
  /** Its path over all tenants: `""` is `/all`, `"queues"` is `/all/queues`. Absent: the page works in one tenant. */
  allPath?: string;
  /** The feature of the binary (`features` of GET /v1/me) that it needs; absent: always there. */
  feature?: string;
  /** One of these roles in the tenant is needed to see it; absent: any role. */
  roles?: readonly Role[];
  /** The API needs the role for all tenants, also for the page of one tenant. */
  everywhere?: true;
  /** The key after `g`. */
  key?: string;
  /** The page needs the width: the sidebar opens as icons. */
  rail?: true;
}

/** Any role, for pages that need one for all tenants. */
const everyRole: readonly Role[] = ["viewer", "developer", "reviewer", "operator", "auditor", "admin"];

/** The pages of the sidebar and of the palette, in their order. A page that is not built has no entry. */
export const navPages: readonly NavPage[] = [
  { id: "home", title: "Home", section: "top", icon: House, path: "", allPath: "", key: "h" },
  { id: "jobs", title: "Jobs", section: "work", icon: ListChecks, path: "jobs", key: "j" },
  { id: "batches", title: "Batches", section: "work", icon: Layers, path: "batches", key: "b" },
  { id: "requests", title: "Requests", section: "work", icon: ArrowLeftRight, path: "requests", feature: "requests", key: "r" },
  { id: "queues", title: "Queues & workers", section: "work", icon: Gauge, path: "queues", allPath: "queues", key: "q" },
  { id: "dead-letters", title: "Dead letters", section: "work", icon: MailX, path: "dead-letters", key: "d" },
  { id: "webhooks", title: "Webhooks", section: "work", icon: Webhook, path: "webhooks", key: "w" },
  { id: "files", title: "Files", section: "work", icon: Files, path: "files", feature: "files", key: "f" },
  {
    id: "playground",
    title: "Playground",
    section: "build",
    icon: FlaskConical,
    path: "playground",
    feature: "playground",
    roles: ["developer"],
    key: "y",
    rail: true,
  },
  { id: "prompts", title: "Prompts", section: "build", icon: MessageSquareText, path: "prompts", feature: "prompts", key: "p" },
  { id: "models", title: "Models", section: "serve", icon: Boxes, path: "models", allPath: "models", key: "m" },
  { id: "usage", title: "Usage & cost", section: "govern", icon: ChartColumnStacked, path: "usage", allPath: "usage", key: "c" },
  {
    id: "forecast",
    title: "Forecast",
    section: "govern",
    icon: Telescope,
    allPath: "forecast",
    roles: everyRole,
    everywhere: true,
    key: "o",
  },
  { id: "audit", title: "Audit", section: "govern", icon: ScrollText, path: "audit", allPath: "audit", roles: ["auditor"], key: "a" },
  {
    id: "tenants",
    title: "Tenants & keys",
    section: "govern",
    icon: KeyRound,
    path: "keys",
    allPath: "tenants",
    roles: ["admin"],
    everywhere: true,
    key: "k",
  },
  {
    id: "members",
    title: "Members & sessions",
    section: "govern",
    icon: Users,
    path: "members",
    allPath: "members",
    roles: ["admin"],
    everywhere: true,
    key: "u",
  },
  { id: "settings", title: "Settings", section: "bottom", icon: Settings, allPath: "settings", key: "s" },
];

export const sectionTitles: Record<Section, string> = {
  top: "",
  work: "Work",
  build: "Build",
  serve: "Serve",
  govern: "Govern",
  bottom: "",
};

/** The address of a page in a tenant, or over all tenants (null). A page without an all-tenant view falls back to the tenant last chosen. */
export function hrefOf(page: NavPage, tenant: string | null, lastTenant: string): string {
  if ((tenant === null || page.path === undefined) && page.allPath !== undefined) return join("/all", page.allPath);
  return join(`/t/${encodeURIComponent(tenant ?? lastTenant)}`, page.path ?? "");
}

/** The page of the navigation that an address belongs to. */
export function pageAt(path: string, tenant: string | null): NavPage | undefined {
  return navPages.find((p) => {
    const own = tenant === null ? p.allPath : p.path;
    if (!own) return false;
    const href = hrefOf(p, tenant, "");
    return path === href || path.startsWith(`${href}/`);
  });
}

/** The address of the same page in another tenant (null: over all tenants), where it has that view; Home otherwise. Ids of the old tenant stay behind. */
export function sameIn(next: string | null, path: string, tenant: string | null): string {
  const here = pageAt(path, tenant);
  const fits = here && (next === null ? here.allPath : here.path) !== undefined;
  if (fits) return hrefOf(here, next, "");
  return next === null ? "/all" : `/t/${encodeURIComponent(next)}`;
}

function join(start: string, path: string): string {
  return path === "" ? start : `${start}/${path}`;
}

/** The pages that this binary serves and this person may see: `here` are the roles in the tenant, `everywhere` those for all tenants. */
export function visiblePages(
  pages: readonly NavPage[],
  features: readonly string[],
  here: ReadonlySet<Role>,
  everywhere: ReadonlySet<Role> = here,
): NavPage[] {
  return pages.filter((p) => {
    if (p.feature && !features.includes(p.feature)) return false;
    const roles = p.everywhere ? everywhere : here;
    return !p.roles || roles.has("admin") || p.roles.some((role) => roles.has(role));
  });
}
