import { Link, useRouterState } from "@tanstack/react-router";
import { CircleHelp, Menu as MenuIcon, Search } from "lucide-react";
import { Fragment } from "react";
import { IconButton } from "@/components/Button";
import { cn } from "@/components/cn";
import { Kbd } from "@/components/Kbd";
import { shortId } from "@/format";
import { modKey } from "@/hooks/shortcuts";
import { useTenant } from "@/routes";
import { useMe } from "@/session";
import { AccountMenu } from "./AccountMenu";
import { hrefOf, navPages } from "./navigation";
import { TenantSwitcher } from "./TenantSwitcher";

interface HeaderProps {
  narrow: boolean;
  onDrawer: () => void;
  onPalette: () => void;
  onHelp: () => void;
}

export function Header({ narrow, onDrawer, onPalette, onHelp }: HeaderProps) {
  return (
    <header className="flex h-12 shrink-0 items-center gap-2 border-b border-line bg-canvas px-3 md:px-4">
      {narrow && <IconButton icon={MenuIcon} label="Open the pages" onClick={onDrawer} />}
      <TenantSwitcher />
      <Environment />
      <Breadcrumb />
      <div className="flex-1" />
      {narrow ? (
        <IconButton icon={Search} label="Search or jump to…" onClick={onPalette} />
      ) : (
        <button
          type="button"
          onClick={onPalette}
          className="flex h-[30px] w-44 items-center gap-2 rounded-control border border-line-2 bg-surface px-2.5 text-13 text-ink-3 hover:border-control lg:w-64"
        >
          <Search aria-hidden className="size-4" strokeWidth={1.75} />
          <span className="flex-1 truncate text-left">Search or jump to…</span>
          <Kbd>{modKey}</Kbd>
          <Kbd>K</Kbd>
        </button>
      )}
      {!narrow && <IconButton icon={CircleHelp} label="Shortcuts and help" hint="?" onClick={onHelp} />}
      <AccountMenu onHelp={onHelp} />
    </header>
  );
}

/** Production is solid ink, staging amber, anything else slate. */
function Environment() {
  const { environment } = useMe();
  if (!environment) return null;
  const look =
    environment === "production"
      ? "bg-ink text-surface"
      : environment === "staging"
        ? "bg-amber-tint text-amber"
        : "bg-slate-tint text-slate";
  return (
    <span className={cn("hidden h-[18px] items-center rounded-chip px-1.5 text-11 font-medium md:inline-flex", look)}>{environment}</span>
  );
}

const isId = /^[a-z]+_[0-9A-Za-z]{8,}$/; // names of models, tenants and prompts are shown whole

/** Page and object, from the path. */
function Breadcrumb() {
  const tenant = useTenant();
  const path = useRouterState({ select: (s) => s.location.pathname });
  const words = path.split("/").slice(tenant === null ? 2 : 3);
  const page = navPages.find((p) => (tenant === null ? p.allPath : p.path) === (words[0] ?? ""));
  const rest = words.slice(1).map(decodeURIComponent);
  return (
    <nav aria-label="Breadcrumb" className="hidden min-w-0 items-center gap-2 text-13 md:flex">
      {page && (
        <>
          <Slash />
          {rest.length > 0 ? (
            <Link to={hrefOf(page, tenant, "") as "/"} className="text-ink-2 hover:text-ink">
              {page.title}
            </Link>
          ) : (
            <span aria-current="page" className="font-medium">
              {page.title}
            </span>
          )}
        </>
      )}
      {rest.map((word, i) => (
        <Fragment key={words.slice(0, i + 2).join("/")}>
          <Slash />
          <span
            aria-current={i === rest.length - 1 ? "page" : undefined}
            className={cn("truncate", isId.test(word) ? "font-mono text-12" : "font-medium")}
          >
            {isId.test(word) ? shortId(word) : word}
          </span>
        </Fragment>
      ))}
    </nav>
  );
}

function Slash() {
  return (
    <span aria-hidden className="text-line-2">
      /
    </span>
  );
}
