import { useNavigate } from "@tanstack/react-router";
import { BookOpen, CircleHelp, LogOut, UserRound } from "lucide-react";
import { Menu, MenuCheckItem, MenuChoice, MenuItem, MenuSeparator } from "@/components/Menu";
import type { Zone } from "@/format";
import { zoneName } from "@/format";
import { setPreference, type Theme, usePreferences } from "@/hooks/preferences";
import { useMe } from "@/session";
import { useLeave } from "./useLeave";

/** Two letters of a name or an address. */
export function initials(name: string): string {
  const words = name.split(/[\s.@_-]+/).filter(Boolean);
  const letters = words.length > 1 ? `${words[0]?.[0]}${words[1]?.[0]}` : name.slice(0, 2);
  return letters.toUpperCase();
}

const themes: { value: Theme; label: string }[] = [
  { value: "light", label: "Light" },
  { value: "dark", label: "Dark" },
  { value: "system", label: "System" },
];

/** Theme, zone, shortcuts and sign-out. */
export function AccountMenu({ onHelp }: { onHelp: () => void }) {
  const me = useMe();
  const { theme, zone, shortcuts } = usePreferences();
  const zones: { value: Zone; label: string }[] = [
    { value: "local", label: `Local (${zoneName("local")})` },
    { value: "utc", label: "UTC" },
  ];
  const navigate = useNavigate();
  const leave = useLeave();
  return (
    <Menu
      className="w-56"
      trigger={
        <button
          type="button"
          className="inline-flex size-[26px] shrink-0 items-center justify-center rounded-full border border-violet-line bg-violet-tint text-11 font-semibold text-violet"
        >
          <span aria-hidden>{initials(me.name)}</span>
          <span className="sr-only">Account of {me.name}</span>
        </button>
      }
    >
      <div className="px-2 py-1.5">
        <div className="truncate font-medium">{me.name}</div>
        {me.email && <div className="truncate text-12 text-ink-3">{me.email}</div>}
      </div>
      <MenuSeparator />
      <MenuChoice label="Theme" value={theme} choices={themes} onChange={(v) => setPreference("theme", v)} />
      <MenuSeparator />
      <MenuChoice label="Times" value={zone} choices={zones} onChange={(v) => setPreference("zone", v)} />
      <MenuSeparator />
      <MenuCheckItem checked={shortcuts} onChange={(on) => setPreference("shortcuts", on)}>
        Keyboard shortcuts
      </MenuCheckItem>
      <MenuItem icon={UserRound} onSelect={() => void navigate({ to: "/all/settings", search: { section: "account" } })}>
        Account and sessions
      </MenuItem>
      <MenuItem icon={CircleHelp} onSelect={onHelp}>
        Shortcuts and help
      </MenuItem>
      <MenuItem icon={BookOpen} onSelect={() => void navigate({ to: "/docs" })}>
        API reference
      </MenuItem>
      <MenuItem icon={LogOut} onSelect={leave}>
        Sign out
      </MenuItem>
      <div className="px-2 pt-1 pb-0.5 text-11 text-ink-3">Penstock {me.version}</div>
    </Menu>
  );
}
