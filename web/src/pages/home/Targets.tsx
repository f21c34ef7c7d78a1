import { useQuery } from "@tanstack/react-query";
import { read, type Schemas } from "@/api";
import { Meter } from "@/components/BatchBar";
import { Card } from "@/components/Card";
import { cn } from "@/components/cn";
import { type State, StateGlyph } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { formatCount, formatDuration, formatPercent } from "@/format";
import { useSeesAll } from "@/needs/useNeeds";
import { CardLink, Cell, CellHead, SimpleTable } from "./parts";

type Target = Schemas["Target"];

const states: Record<Target["state"], State> = {
  open: "healthy",
  resting: "degraded",
  probed: "degraded",
  broken: "down",
  paused: "paused",
};
const words: Record<Target["state"], string> = {
  open: "open",
  resting: "rests after a rate limit",
  probed: "down; one call tests it",
  broken: "down",
  paused: "paused",
};

function useTargets() {
  return useQuery({ ...read(null, "/admin/v1/targets"), enabled: useSeesAll(), refetchInterval: 15_000 });
}

/** "5 of 6 targets healthy", beside the title. */
export function HealthWords() {
  const { data } = useTargets();
  if (!data || data.data.length === 0) return null;
  const all = data.data.length;
  const healthy = data.data.filter((t) => t.state === "open").length;
  const down = data.data.some((t) => t.state === "broken" || t.state === "probed");
  return (
    <>
      <StateGlyph state={down ? "down" : healthy < all ? "degraded" : "healthy"} />
      {healthy} of {all} targets healthy
    </>
  );
}

/** The health and the load of each target. */
export function Targets() {
  const targets = useTargets();
  return (
    <Card title="Targets" note="last 15 minutes, over all tenants" aside={<CardLink page="models">All models</CardLink>}>
      {targets.error ? (
        <ErrorPanel error={targets.error} onRetry={() => void targets.refetch()} />
      ) : targets.data?.data.length === 0 ? (
        <p className="px-3.5 py-4 text-ink-2">The configuration has no targets. Add a provider and a model to the configuration file.</p>
      ) : (
        <SimpleTable label="Targets">
          <thead>
            <tr>
              <CellHead>Target</CellHead>
              <CellHead wide>Provider</CellHead>
              <CellHead right>In flight</CellHead>
              <CellHead wide>Capacity used</CellHead>
              <CellHead right wide>
                Attempts
              </CellHead>
              <CellHead right>p95</CellHead>
              <CellHead right>Errors</CellHead>
            </tr>
          </thead>
          <tbody>
            {targets.data?.data.map((t) => (
              <TargetRow key={t.name} target={t} />
            ))}
          </tbody>
        </SimpleTable>
      )}
    </Card>
  );
}

const full = 0.9;

function TargetRow({ target: t }: { target: Target }) {
  const used = t.permits > 0 ? t.total_running / t.permits : 0;
  const errors = t.recent.attempts > 0 ? t.recent.failed / t.recent.attempts : null;
  return (
    <tr className="border-t border-line">
      <th scope="row" className="w-1/2 max-w-0 px-3.5 py-1.5 text-left font-normal">
        <span className="flex items-center gap-2" title={words[t.state]}>
          <StateGlyph state={states[t.state]} alone />
          <span className="truncate font-medium">{t.name}</span>
        </span>
      </th>
      <Cell wide>{[t.provider, t.region].filter(Boolean).join(" · ")}</Cell>
      <Cell right>
        {formatCount(t.total_running)} <span className="text-ink-3">/ {formatCount(t.permits)}</span>
      </Cell>
      <Cell wide>
        <span className="flex items-center gap-3">
          <Meter share={used} label={`${formatPercent(used)} of the capacity used`} className="w-14" />
          <span className={cn("num", used >= full && "text-amber")}>{formatPercent(used)}</span>
        </span>
      </Cell>
      <Cell right wide>
        {formatCount(t.recent.attempts)}
      </Cell>
      <Cell right>{formatDuration(t.recent.p95_ms)}</Cell>
      <Cell right>
        <span className={cn(errors !== null && errors >= 0.05 && "text-red")}>{formatPercent(errors)}</span>
      </Cell>
    </tr>
  );
}
