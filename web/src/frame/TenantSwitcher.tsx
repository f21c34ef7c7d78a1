import { useNavigate, useRouterState } from "@tanstack/react-router";
import { Building2, ChevronsUpDown, LayoutGrid } from "lucide-react";
import { useState } from "react";
import { cn } from "@/components/cn";
import { Menu, MenuItem, MenuSeparator } from "@/components/Menu";
import { Picker, type PickerEntry } from "@/components/Picker";
import { Popover } from "@/components/Popover";
import { useTenant } from "@/routes";
import { rolesIn, useMe } from "@/session";
import { sameIn } from "./navigation";
import { matchOf } from "./palette";

const many = 8; // from here on the list has a search

/** The tenants of the person, and all tenants for a person with a role there; each with the address of the same page. */
export function useTenantEntries(): (PickerEntry & { tenant: string | null })[] {
  const me = useMe();
  const tenant = useTenant();
  const navigate = useNavigate();
  const path = useRouterState({ select: (s) => s.location.pathname });
  const entry = (id: string | null, title: string) => ({
    id: `tenant-${id ?? ""}`,
    tenant: id,
    title,
    note: "Tenant",
    icon: id === null ? LayoutGrid : Building2,
    checked: id === tenant,
    run: () => void navigate({ to: sameIn(id, path, tenant) as "/" }),
  });
  const all = rolesIn(me, null).size > 0 ? [entry(null, "All tenants")] : [];
  return [...all, ...me.tenants.map((t) => entry(t.id, t.name === t.id ? t.name : `${t.name} (${t.id})`))];
}

/** The tenant of the page. Another one opens on the same page. */
export function TenantSwitcher() {
  const me = useMe();
  const tenant = useTenant();
  const entries = useTenantEntries();
  const name = tenant === null ? "All tenants" : (me.tenants.find((t) => t.id === tenant)?.name ?? tenant);
  const trigger = (
    <button type="button" className="flex h-[30px] min-w-0 items-center gap-2 rounded-control px-1 text-13 font-medium hover:bg-hover">
      <TenantMark tenant={tenant} />
      <span className="truncate">{name}</span>
      <ChevronsUpDown aria-hidden className="size-3.5 shrink-0 text-ink-3" strokeWidth={1.75} />
      <span className="sr-only">Switch tenant</span>
    </button>
  );
  if (entries.length > many) return <Searched trigger={trigger} entries={entries} more={me.more_tenants} />;
  return (
    <Menu align="start" className="min-w-60" trigger={trigger}>
      {entries.map((e) => (
        <div key={e.id}>
          <MenuItem onSelect={e.run} checked={e.checked ?? false}>
            {e.title}
          </MenuItem>
          {e.tenant === null && <MenuSeparator />}
        </div>
      ))}
    </Menu>
  );
}

function Searched({
  trigger,
  entries,
  more,
}: {
  trigger: React.ReactElement<Record<string, unknown>>;
  entries: PickerEntry[];
  more: boolean;
}) {
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const found = entries.filter((e) => matchOf(e.title, typed) !== null).map((e) => ({ ...e, note: e.checked ? "Here" : "" }));
  const note =
    found.length === 0
      ? "No tenant has this name."
      : more && "More tenants exist than this list holds. Open one by its address, /t/ and its id.";
  return (
    <Popover label="Tenants" open={open} onOpenChange={setOpen} trigger={trigger} className="w-80 overflow-hidden p-0">
      <Picker
        label="Tenants"
        placeholder="A tenant…"
        typed={typed}
        onType={setTyped}
        entries={found}
        note={note || undefined}
        onDone={() => {
          setOpen(false);
          setTyped("");
        }}
      />
    </Popover>
  );
}

function TenantMark({ tenant }: { tenant: string | null }) {
  return (
    <span
      aria-hidden
      className={cn(
        "inline-flex size-[18px] shrink-0 items-center justify-center rounded-chip text-11 font-semibold",
        tenant === null ? "bg-ink text-surface" : "bg-accent text-on-accent",
      )}
    >
      {tenant === null ? <LayoutGrid className="size-3" strokeWidth={2} /> : tenant.slice(0, 1).toUpperCase()}
    </span>
  );
}
