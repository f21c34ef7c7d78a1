import { Gauge, MoreHorizontal, RefreshCw, Trash2 } from "lucide-react";
import { IconButton } from "@/components/Button";
import { Chip } from "@/components/Chip";
import { CurlItem } from "@/components/Copy";
import { Menu, MenuItem, MenuSeparator } from "@/components/Menu";
import { type State, StateGlyph } from "@/components/StateGlyph";
import { Time, TimeAgo } from "@/components/Time";
import type { Column } from "@/components/table/column";
import { formatCost, missing } from "@/format";
import type { Budget } from "@/pages/tenants/allowance";
import type { Key } from "@/pages/tenants/data";
import { limitWords, Source } from "@/pages/tenants/words";
import type { KeyAct } from "./KeysTab";

const states: Record<string, { glyph: State; word: string }> = {
  active: { glyph: "healthy", word: "Active" },
  rotated: { glyph: "degraded", word: "Rotated" },
  expired: { glyph: "expired", word: "Expired" },
  revoked: { glyph: "cancelled", word: "Revoked" },
};

export function KeyState({ apiKey }: { apiKey: Key }) {
  const state = states[apiKey.status];
  return (
    <span className="inline-flex items-center gap-1.5">
      {state && <StateGlyph state={state.glyph} />}
      {state?.word ?? apiKey.status}
    </span>
  );
}

const periods = [
  ["daily_usd", "day"],
  ["monthly_usd", "month"],
  ["total_usd", "total"],
] as const;

/** `$60/month hard`. */
function budgetWords(budget: Budget): string {
  const words = periods.flatMap(([name, unit]) => (budget[name] ? [`${formatCost(budget[name])}/${unit}`] : []));
  return words.length === 0 ? "" : `${words.join(", ")}${budget.hard ? " hard" : ""}`;
}

function allowanceWords(key: Key): string {
  const limits = limitWords(key.limits);
  return [limits === missing ? "" : limits, budgetWords(key.budget)].filter(Boolean).join(", ") || missing;
}

export function keyColumns(onAct: (act: KeyAct) => void): readonly Column<Key>[] {
  return [
    { id: "state", header: "State", width: "84px", fixed: true, narrow: "line", cell: (k) => <KeyState apiKey={k} /> },
    {
      id: "name",
      header: "Name",
      width: "minmax(104px, 1fr)",
      fixed: true,
      narrow: "lead",
      cell: (k) => <span className="font-medium">{k.name}</span>,
    },
    {
      id: "prefix",
      header: "Key",
      width: "96px",
      narrow: "line",
      cell: (k) => <span className="font-mono text-12 text-ink-2">{k.prefix}…</span>,
    },
    { id: "scopes", header: "Scopes", width: "minmax(304px, 1.2fr)", cell: (k) => <Scopes apiKey={k} /> },
    { id: "limits", header: "Limits and budget", width: "minmax(112px, 1fr)", cell: (k) => allowanceWords(k) },
    { id: "source", header: "Owner", width: "52px", cell: (k) => <Source source={k.source} /> },
    { id: "created", header: "Created", width: "64px", align: "right", cell: (k) => <TimeAgo iso={k.created_at} /> },
    {
      id: "used",
      header: "Last used",
      width: "72px",
      align: "right",
      narrow: "line",
      cell: (k) => <TimeAgo iso={k.last_used_at} suffix=" ago" />,
    },
    { id: "expires", header: "Ends", width: "120px", align: "right", cell: (k) => <Ends apiKey={k} /> },
    {
      id: "actions",
      header: "Actions",
      quiet: true,
      width: "28px",
      fixed: true,
      narrow: "side",
      cell: (k) => <KeyMenu apiKey={k} onAct={onAct} />,
    },
  ];
}

function Scopes({ apiKey }: { apiKey: Key }) {
  return (
    <span className="flex items-center gap-1 overflow-hidden">
      {apiKey.scopes.map((scope) => (
        <Chip key={scope} mono hue={scope === "admin" ? "amber" : "slate"} className="shrink-0">
          {scope}
        </Chip>
      ))}
    </span>
  );
}

function Ends({ apiKey }: { apiKey: Key }) {
  if (apiKey.revoked_at) return <Time iso={apiKey.revoked_at} />;
  if (apiKey.expires_at) return <Time iso={apiKey.expires_at} />;
  return <span className="text-ink-3">Never</span>;
}

/** A key of the file is changed in the file; a key that has ended cannot be changed. */
function KeyMenu({ apiKey, onAct }: { apiKey: Key; onAct: (act: KeyAct) => void }) {
  const fixed = apiKey.source === "file" || apiKey.status === "revoked" || apiKey.status === "expired";
  const path = `/admin/v1/keys/${apiKey.id}`;
  return (
    <Menu trigger={<IconButton small icon={MoreHorizontal} label={`Actions on the key ${apiKey.name}`} />}>
      <MenuItem icon={Gauge} disabled={fixed} onSelect={() => onAct({ kind: "allowance", key: apiKey })}>
        Change limits and budget…
      </MenuItem>
      <MenuItem icon={RefreshCw} disabled={fixed || apiKey.status === "rotated"} onSelect={() => onAct({ kind: "rotate", key: apiKey })}>
        Rotate key…
      </MenuItem>
      <CurlItem call={{ method: "POST", path: `${path}/rotate`, body: { overlap: "24h" } }} />
      <MenuSeparator />
      <MenuItem icon={Trash2} danger disabled={fixed} onSelect={() => onAct({ kind: "revoke", key: apiKey })}>
        Revoke key…
      </MenuItem>
    </Menu>
  );
}
