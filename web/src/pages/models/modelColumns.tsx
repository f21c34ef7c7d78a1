import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api";
import { StateGlyph, StateText } from "@/components/StateGlyph";
import { Tip } from "@/components/Tooltip";
import type { Column } from "@/components/table/column";
import { exactCost, formatAmount, missing } from "@/format";
import { Capabilities, CapabilityChips } from "./Capabilities";
import { healthOf, modelHealth } from "./health";
import { PriceCell, Prices, priceRange } from "./Price";
import { policyWords } from "./words";

export type Definition = Schemas["Definition"];
export type DefinedTarget = Schemas["DefinedTarget"];

/** The models of a tenant. */
export function modelColumns(tenant: string, paused: ReadonlySet<string>): Column<Definition>[] {
  return [
    {
      id: "name",
      header: "Model",
      width: "minmax(160px, 1fr)",
      fixed: true,
      narrow: "lead",
      cell: (m) => (
        <Link to="/t/$tenant/models/$model" params={{ tenant, model: m.name }} className="font-medium hover:text-accent hover:underline">
          {m.name}
        </Link>
      ),
    },
    {
      id: "health",
      header: "Health",
      width: "88px",
      narrow: "side",
      cell: (m) => {
        if (paused.has(m.name)) return <StateText state="paused" />;
        const health = modelHealth(m.targets.map((t) => t.state));
        return <StateText state={health.state} word={health.word} />;
      },
    },
    {
      id: "policy",
      header: "Policy",
      width: "60px",
      narrow: "line",
      cell: (m) => (
        <Tip text={policyWords(m.policy)}>
          <span>{m.policy}</span>
        </Tip>
      ),
    },
    { id: "targets", header: "Targets in order", width: "328px", cell: (m) => <TargetNames of={m} /> },
    { id: "price", header: "Input / output", width: "172px", align: "right", narrow: "line", cell: prices },
    { id: "source", header: "Price from", width: "96px", cell: sources },
    {
      id: "context",
      header: "Context",
      width: "56px",
      align: "right",
      cell: (m) => contextText(Math.max(0, ...m.targets.map((t) => t.context_tokens))),
    },
    { id: "capabilities", header: "Capabilities", width: "104px", cell: (m) => <Capabilities names={shared(m)} /> },
  ];
}

const mostNames = 2; // more do not fit; the page of the model has all

function TargetNames({ of: model }: { of: Definition }) {
  return (
    <span className="inline-flex items-center gap-3">
      {model.targets.slice(0, mostNames).map((t) => (
        <Tip key={t.name} text={`${healthOf(t.state).word}. ${healthOf(t.state).why}`}>
          <span className="inline-flex items-center gap-1">
            <StateGlyph state={healthOf(t.state).state} className="size-2.5" />
            {t.name}
            {t.weight !== null && <span className="num text-12 text-ink-3">× {t.weight}</span>}
          </span>
        </Tip>
      ))}
      {model.targets.length > mostNames && <span className="text-12 text-ink-3">+{model.targets.length - mostNames}</span>}
    </span>
  );
}

function prices(model: Definition) {
  const range = (of: (price: NonNullable<DefinedTarget["price"]>) => string) =>
    priceRange(model.targets.map((t) => t.price && of(t.price)));
  return <Prices of={[range((p) => p.input), range((p) => p.output)]} />;
}

/** Where the prices come from: `configuration`, or the catalogue with its date. */
function sources(model: Definition): string {
  return [...new Set(model.targets.map((t) => (t.price ? t.price_source : "no price")))].join(", ");
}

/** The capabilities that at least one target has. */
function shared(model: Definition): string[] {
  return [...new Set(model.targets.flatMap((t) => t.capabilities))];
}

export function contextText(tokens: number): string {
  return tokens === 0 ? missing : formatAmount(tokens);
}

export type PlacedTarget = DefinedTarget & { place: number };

/** The targets of one model; weights only where the policy has them. */
export function definedColumns(weighted: boolean): Column<PlacedTarget>[] {
  const columns: Column<PlacedTarget>[] = [
    { id: "place", header: "#", width: "32px", align: "right", cell: (t) => <span className="text-ink-3">{t.place}</span> },
    { id: "name", header: "Target", width: "220px", narrow: "lead", cell: (t) => <span className="font-medium">{t.name}</span> },
    { id: "state", header: "State", width: "130px", narrow: "side", cell: (t) => <TargetHealth target={t} /> },
    { id: "weight", header: "Weight", width: "64px", align: "right", narrow: "line", cell: (t) => t.weight },
    { id: "region", header: "Region", width: "90px", narrow: "line", cell: (t) => t.region || missing },
    { id: "input", header: "Input", width: "72px", align: "right", narrow: "line", cell: (t) => <PriceCell usd={t.price?.input} /> },
    {
      id: "cached",
      header: "Cached",
      width: "72px",
      align: "right",
      narrow: "line",
      cell: (t) => <PriceCell usd={t.price?.cached_input} />,
    },
    { id: "output", header: "Output", width: "72px", align: "right", narrow: "line", cell: (t) => <PriceCell usd={t.price?.output} /> },
    {
      id: "bulk",
      header: "In bulk",
      width: "56px",
      align: "right",
      cell: (t) => (t.price?.batch_discount ? `−${t.price.batch_discount}%` : missing),
    },
    { id: "context", header: "Context", width: "80px", align: "right", cell: (t) => contextText(t.context_tokens) },
    { id: "largest", header: "Answer up to", width: "96px", align: "right", cell: (t) => contextText(t.largest_output_tokens) },
  ];
  return columns.filter((c) => weighted || c.id !== "weight");
}

function TargetHealth({ target }: { target: DefinedTarget }) {
  const health = healthOf(target.state);
  return (
    <Tip text={health.why}>
      <span>
        <StateText state={health.state} word={health.word} />
      </span>
    </Tip>
  );
}

/** The second line of a target: its upstream model, the source of its price, and its capabilities. */
export function targetLine(t: DefinedTarget) {
  return (
    <span className="flex flex-wrap items-center gap-x-2 gap-y-1 md:pl-[26px]">
      <span className="font-mono">{t.upstream_model}</span>
      <span className="text-ink-3">{t.price ? `price from ${t.price_source}` : "no price"}</span>
      {t.price && Number(t.price.per_request) > 0 && <span className="text-ink-3">{exactCost(t.price.per_request)} per request</span>}
      <CapabilityChips names={t.capabilities} />
    </span>
  );
}
