import { Link, useSearch } from "@tanstack/react-router";
import { FileCog, Hourglass, Info, type LucideIcon, SlidersHorizontal, UserRound } from "lucide-react";
import { cn } from "@/components/cn";
import { PageHead } from "@/frame/PageHead";
import { useRole } from "@/session";
import { AboutSection } from "./AboutSection";
import { AccountSection } from "./AccountSection";
import { ConfigSection } from "./ConfigSection";
import { DeprecationsSection } from "./DeprecationsSection";
import { PreferencesSection } from "./PreferencesSection";
import type { SettingsSection } from "./route";

const entries: readonly { id: SettingsSection; title: string; icon: LucideIcon; operators?: true }[] = [
  { id: "preferences", title: "Preferences", icon: SlidersHorizontal },
  { id: "account", title: "Account", icon: UserRound },
  { id: "configuration", title: "Configuration", icon: FileCog, operators: true },
  { id: "deprecations", title: "Deprecations", icon: Hourglass },
  { id: "about", title: "About", icon: Info },
];

/** The viewer's preferences and account for everybody; the configuration of the server for operators. */
export function SettingsPage() {
  const { section, part } = useSearch({ from: "/frame/all/settings" });
  const operator = useRole(null, "operator");
  const shown = entries.filter((e) => operator || !e.operators);
  const now = section ?? (operator ? "configuration" : "preferences");
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead title="Settings" />
      <div className="flex min-h-0 flex-1 flex-col border-t border-line md:flex-row">
        <nav
          aria-label="Settings"
          className="flex shrink-0 gap-0.5 overflow-x-auto border-line p-2 max-md:border-b md:w-48 md:flex-col md:border-r"
        >
          {shown.map(({ id, title, icon: Icon }) => (
            <Link
              key={id}
              to="/all/settings"
              search={{ section: id }}
              aria-current={id === now ? "page" : undefined}
              className={cn(
                "flex h-[30px] shrink-0 items-center gap-2 rounded-control px-2 hover:bg-hover",
                id === now ? "bg-accent-tint font-medium text-accent" : "text-ink-2",
              )}
            >
              <Icon aria-hidden className="size-4" strokeWidth={1.75} />
              {title}
            </Link>
          ))}
        </nav>
        <div className="flex min-w-0 flex-1 flex-col gap-4 overflow-y-auto p-4 md:p-6">
          {now === "preferences" && <PreferencesSection />}
          {now === "account" && <AccountSection />}
          {now === "configuration" && <ConfigSection part={part} />}
          {now === "deprecations" && <DeprecationsSection />}
          {now === "about" && <AboutSection />}
        </div>
      </div>
    </div>
  );
}
