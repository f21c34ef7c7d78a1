import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useState } from "react";
import { api, dataOf, read } from "@/api";
import { Button } from "@/components/Button";
import { Card } from "@/components/Card";
import { CurlButton } from "@/components/Copy";
import { Select } from "@/components/Select";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { EmptyState, ErrorPanel } from "@/components/States";
import { toast } from "@/components/Toast";
import { formatDuration } from "@/format";
import { PageBody } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { modKey, useShortcuts } from "@/hooks/shortcuts";
import { useStore } from "@/hooks/store";
import { Questions } from "./Questions";
import { Results } from "./Results";
import { type Forecast, type Run, type WhatIf, whatIfWords } from "./run";
import { presentChoice, ScenarioCard } from "./ScenarioCard";
import { deleteScenario, freeName, renameScenario, saved, saveScenario } from "./saved";

const mostRuns = 8;
const none: Forecast["problems"] = [];

export function ForecastPage() {
  const present = useQuery({ ...read(null, "/admin/v1/forecast/scenario"), staleTime: Number.POSITIVE_INFINITY });
  const scenario = useScenario(present.data?.scenario ?? "");
  const [whatIf, setWhatIf] = useState<WhatIf>({});
  const [runs, setRuns] = useState<readonly Run[]>([]);
  const run = useMutation({
    mutationFn: () => dataOf(api(null).POST("/admin/v1/forecast", { body: { scenario: scenario.text, what_if: whatIf } })),
    onSuccess: (result) => {
      if (result.problems.length > 0) return;
      const next = { scenario: scenario.name || "Present load", words: whatIfWords(whatIf), result };
      setRuns((old) => [{ ...next, id: (old[0]?.id ?? 0) + 1 }, ...old].slice(0, mostRuns));
    },
  });
  const start = () => {
    if (scenario.text && !run.isPending) run.mutate();
  };
  useShortcuts({ "mod+Enter": start });

  const edit = (text: string) => {
    if (run.data?.problems.length) run.reset();
    scenario.edit(text);
  };
  const targets = [...new Set([...(present.data?.targets ?? []), ...(runs[0]?.result.targets.map((t) => t.name) ?? [])])].sort();
  return (
    <>
      <PageHead
        title="Forecast"
        detail="Predicts waits, throughput and refusals of a load, by simulation. Nothing runs and nothing is changed."
      >
        <CurlButton call={{ method: "POST", path: "/admin/v1/forecast", body: { scenario: scenario.text, what_if: whatIf } }} />
        <Button look="accent" icon={Play} hint={`${modKey} ↵`} busy={run.isPending} disabled={scenario.text === ""} onClick={start}>
          Run forecast
        </Button>
      </PageHead>
      <PageBody>
        {present.error ? (
          <ErrorPanel error={present.error} onRetry={() => void present.refetch()} />
        ) : (
          <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,5fr)_minmax(0,8fr)]">
            {present.isPending ? (
              <Waiting />
            ) : (
              <ScenarioCard
                {...scenario}
                problems={run.data?.problems ?? none}
                onChoose={scenario.choose}
                onEdit={edit}
                onRename={scenario.rename}
                onDelete={scenario.remove}
                onReload={() => void present.refetch().then(() => scenario.choose(presentChoice))}
              />
            )}
            <div className="flex min-w-0 flex-col gap-4">
              <Questions value={whatIf} targets={targets} slots={present.data?.slots} onChange={setWhatIf} />
              {run.error && <ErrorPanel error={run.error} onRetry={start} />}
              <Compared runs={runs} />
            </div>
          </div>
        )}
      </PageBody>
    </>
  );
}

/** The scenario of the URL: the one that the server writes, or one of this browser. An edit of the first makes one of the second. */
function useScenario(present: string) {
  const { scenario } = useSearch({ from: "/frame/all/forecast" });
  const navigate = useNavigate({ from: "/all/forecast" });
  const known = useStore(saved);
  const name = scenario !== undefined && Object.hasOwn(known, scenario) ? scenario : presentChoice;
  const text = name === presentChoice ? present : (known[name] ?? "");
  const choose = (next: string) => void navigate({ search: next === presentChoice ? {} : { scenario: next }, replace: true });
  return {
    name,
    names: Object.keys(known).sort(),
    text,
    choose,
    edit: (next: string) => {
      if (next === text) return;
      const into = name === presentChoice ? freeName(known) : name;
      saveScenario(into, next);
      if (into !== name) choose(into);
    },
    rename: (next: string) => {
      renameScenario(name, next);
      choose(next);
    },
    remove: () => {
      deleteScenario(name);
      choose(presentChoice);
      toast("Scenario deleted", { undo: () => saveScenario(name, text) });
    },
  };
}

/** The newest run, beside an earlier one. */
function Compared({ runs }: { runs: readonly Run[] }) {
  const [chosen, setChosen] = useState<number>();
  const [newest, ...earlier] = runs;
  if (!newest) {
    return (
      <Card>
        <EmptyState title="No forecast yet">
          Press Run forecast to simulate ten minutes of the scenario. Then ask a question, such as load ×2 or a target down, and run it
          again: both runs stand side by side.
        </EmptyState>
      </Card>
    );
  }
  const before = earlier.find((r) => r.id === chosen) ?? earlier[0];
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="text-16 font-semibold">
          Run {newest.id}: {newest.words}
        </h2>
        <span className="text-12 text-ink-3">
          {newest.scenario}, {formatDuration(newest.result.seconds * 1000)} simulated
        </span>
        {before && (
          <div className="ml-auto flex items-center gap-2">
            <span className="text-12 text-ink-3">Compared with</span>
            <Select
              small
              label="Compared with"
              value={String(before.id)}
              choices={earlier.map((r) => ({ value: String(r.id), label: `Run ${r.id}: ${r.words}, ${r.scenario}` }))}
              onChange={(id) => setChosen(Number(id))}
            />
          </div>
        )}
      </div>
      <Results run={newest} before={before} />
    </>
  );
}

function Waiting() {
  const slow = useSlow(true);
  return <Card title="Scenario">{<div className="h-[620px] p-4">{slow && <Skeleton className="w-1/2" />}</div>}</Card>;
}
