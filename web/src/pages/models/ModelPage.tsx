import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { read } from "@/api";
import { Card } from "@/components/Card";
import { CurlButton } from "@/components/Copy";
import { ControlButton } from "@/components/control/ControlButton";
import { ControlNote } from "@/components/control/ControlNote";
import { type Fact, KeyValue, PaneSection } from "@/components/KeyValue";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { StatePill } from "@/components/StateGlyph";
import { EmptyState, ErrorPanel } from "@/components/States";
import { PlainTable } from "@/components/table/PlainTable";
import { formatDuration, plural, threeFigures } from "@/format";
import { WithPane } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { useMe } from "@/session";
import { ExplainCard } from "./ExplainCard";
import { modelHealth } from "./health";
import { type Definition, definedColumns, targetLine } from "./modelColumns";
import { ModelPauseEffect } from "./PauseEffects";
import { incapableWords, overflowWords, policyWords } from "./words";

const topics = { load: ["/v1/model_definitions"] };

/** One model: its targets, its rules, and how it would route a call. */
export function ModelPage() {
  const tenant = useOneTenant();
  const { model: name } = useParams({ from: "/frame/t/$tenant/models/$model" });
  const models = useQuery(read(tenant, "/v1/model_definitions"));
  const operates = useMe().all_tenants_roles.length > 0;
  const controls = useQuery({ ...read(null, "/admin/v1/controls"), enabled: operates });
  useLive(tenant, topics);
  const slow = useSlow(models.isPending);
  const model = models.data?.data.find((m) => m.name === name);
  const control = controls.data?.data.find((c) => c.kind === "model" && c.name === name) ?? null;
  if (models.error || !model) {
    return (
      <>
        <PageHead title={name} />
        {models.error && <ErrorPanel error={models.error} onRetry={() => void models.refetch()} />}
        {slow && <Loading />}
        {models.data && <Unknown tenant={tenant} name={name} />}
      </>
    );
  }
  const health = modelHealth(model.targets.map((t) => t.state));
  return (
    <>
      <PageHead
        title={name}
        live
        state={control ? <StatePill state="paused" /> : <StatePill state={health.state} word={health.word} />}
        detail={control ? <ControlNote control={control} /> : `${policyWords(model.policy)}.`}
      >
        {controls.data && (
          <ControlButton subject={{ kind: "model", name }} control={control} effect={() => <ModelPauseEffect name={name} />} />
        )}
        <CurlButton call={{ path: "/v1/model_definitions" }} />
      </PageHead>
      <WithPane pane={<Facts model={model} />}>
        <div className="flex flex-col gap-4 p-4 md:p-6">
          <Card title="Targets" note="in the order of the configuration; dollars per million tokens">
            <PlainTable
              label="Targets"
              columns={definedColumns(model.policy === "weighted")}
              rows={model.targets.map((t, i) => ({ ...t, place: i + 1 }))}
              idOf={(t) => t.name}
              under={targetLine}
            />
          </Card>
          <ExplainCard tenant={tenant} model={name} />
        </div>
      </WithPane>
    </>
  );
}

function Facts({ model }: { model: Definition }) {
  const facts: Fact[] = [
    { name: "Policy", value: model.policy },
    { name: "Targets", value: plural(model.targets.length, "target") },
    { name: "Answer cache", value: model.cache_seconds > 0 ? formatDuration(model.cache_seconds * 1000) : "off" },
    { name: "Definition", value: <span className="font-mono text-12">{model.definition.slice(0, 16)}…</span>, copy: model.definition },
  ];
  const { score } = model;
  return (
    <>
      <PaneSection title="Model">
        <KeyValue facts={facts} />
      </PaneSection>
      <PaneSection title="If a target cannot serve a call">
        <p className="text-ink-2">{incapableWords(model.on_incapable)}.</p>
      </PaneSection>
      <PaneSection title="If a conversation is too long">
        <p className="text-ink-2">{overflowWords(model.on_overflow)}.</p>
      </PaneSection>
      {score && (
        <PaneSection title="Weights of the score">
          <KeyValue
            facts={(["cost", "latency", "quality", "headroom"] as const).map((part) => ({
              name: part.charAt(0).toUpperCase() + part.slice(1),
              value: threeFigures(score[part]),
            }))}
          />
        </PaneSection>
      )}
      <PaneSection title="Change it">
        <p className="text-ink-2">
          The configuration file owns models. Edit it, check it with <code className="font-mono text-12">penstock config validate</code>,
          and apply it with <code className="font-mono text-12">penstock config reload</code>.
        </p>
      </PaneSection>
    </>
  );
}

function Unknown({ tenant, name }: { tenant: string; name: string }) {
  return (
    <EmptyState
      title={`No model ${name}`}
      action={
        <Link to="/t/$tenant/models" params={{ tenant }} className="text-accent hover:underline">
          All models
        </Link>
      }
    >
      The configuration has no model of this name, or this tenant may not use it.
    </EmptyState>
  );
}

function Loading() {
  return (
    <div className="flex flex-col gap-4 p-6">
      {[1, 2, 3, 4].map((i) => (
        <Skeleton key={i} className="h-5 w-2/3" />
      ))}
    </div>
  );
}
