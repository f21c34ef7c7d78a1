import { useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { List, Moon, Sun } from "lucide-react";
import { basePath } from "@/api";
import { IconButton } from "@/components/Button";
import { Select } from "@/components/Select";
import { Logo } from "@/frame/Logo";
import { useMedia } from "@/hooks/media";
import { setPreference, usePreferences } from "@/hooks/preferences";
import type { Me } from "@/session";

interface DocsHeaderProps {
  me: Me | null;
  versions: readonly string[];
  version: string;
  onVersion: (version: string) => void;
  /** Opens the list of operations on a phone. */
  onList: () => void;
}

export function DocsHeader({ me, versions, version, onVersion, onList }: DocsHeaderProps) {
  const { theme } = usePreferences();
  const queries = useQueryClient();
  const systemDark = useMedia("(prefers-color-scheme: dark)");
  const dark = theme === "dark" || (theme === "system" && systemDark);
  return (
    <header className="flex h-12 shrink-0 items-center gap-3 border-b border-line bg-canvas px-3 md:px-4">
      <span className="lg:hidden">
        <IconButton icon={List} label="Operations" onClick={onList} />
      </span>
      <Link to={me ? "/" : "/docs"} className="flex items-center gap-2 text-14 font-semibold">
        <Logo />
        <span className="max-md:sr-only">Penstock</span>
      </Link>
      <Link to="/docs" search={(old) => ({ ...old, op: undefined }) as never} className="text-ink-2 hover:text-ink max-md:hidden">
        API reference
      </Link>
      <div className="flex-1" />
      {versions.length > 1 && (
        <Select
          small
          label="Version of the API"
          className="shrink-0 whitespace-nowrap"
          value={version}
          choices={versions.map((v) => ({ value: v, label: v }))}
          onChange={onVersion}
        />
      )}
      <IconButton
        icon={dark ? Sun : Moon}
        label={dark ? "Use the light theme" : "Use the dark theme"}
        onClick={() => setPreference("theme", dark ? "light" : "dark")}
      />
      {me ? (
        <Link
          to="/"
          className="inline-flex h-[30px] items-center rounded-control border border-line-2 bg-surface px-3 font-medium hover:bg-hover"
        >
          <span className="max-md:hidden">Open console</span>
          <span className="md:hidden">Console</span>
        </Link>
      ) : (
        <Link
          to="/sign-in"
          search={{ return_to: window.location.pathname.slice(basePath.length) + window.location.search }}
          onClick={() => void queries.cancelQueries()}
          className="inline-flex h-[30px] items-center rounded-control bg-accent px-3 font-medium text-on-accent hover:bg-accent-hover"
        >
          Sign in
        </Link>
      )}
    </header>
  );
}
