import { useQuery } from "@tanstack/react-query";
import { read } from "@/api";
import { plural } from "@/format";
import { pauseEffect } from "../queues/load";
import { modelsWithoutAnother, type Target } from "./health";

/** The queued and running items of some models, over all tenants. */
function useWork(models: readonly string[]) {
  const load = useQuery(read(null, "/admin/v1/load"));
  const rows = load.data?.models.filter((m) => models.includes(m.name)) ?? [];
  const sum = (of: "ready" | "parked" | "running") => rows.reduce((n, row) => n + row[of], 0);
  return { ready: sum("ready"), parked: sum("parked"), running: sum("running") };
}

/** What a pause of a model touches. */
export function ModelPauseEffect({ name }: { name: string }) {
  return (
    <>
      <p>{pauseEffect(useWork([name]))}</p>
      <p>Synchronous calls of all tenants to this model get 503 until you resume.</p>
    </>
  );
}

/** What a pause of a target touches: models without another target stop, the others move. */
export function TargetPauseEffect({ target: t, all }: { target: Target; all: readonly Target[] }) {
  const stopped = modelsWithoutAnother(t, all);
  const moved = t.models.filter((m) => !stopped.includes(m));
  const work = useWork(stopped);
  return (
    <>
      {stopped.length > 0 && (
        <p>
          <span className="font-medium">{stopped.join(", ")}</span> {stopped.length === 1 ? "has" : "have"} no other open target.{" "}
          {pauseEffect({ ...work, running: 0 })} Synchronous calls get 503.
        </p>
      )}
      {moved.length > 0 && (
        <p>
          Calls of <span className="font-medium">{moved.join(", ")}</span> go to other targets.
        </p>
      )}
      {t.models.length === 0 && <p>No model uses this target.</p>}
      {t.total_running > 0 && <p>{plural(t.total_running, "open call")} will finish.</p>}
    </>
  );
}
