import { useQuery } from "@tanstack/react-query";
import { api, dataOf, readKey, type Schemas } from "@/api";
import { Chip } from "@/components/Chip";
import { CurlButton } from "@/components/Copy";
import { Cost } from "@/components/Cost";
import { Dialog } from "@/components/Dialog";
import { Skeleton } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { formatDuration, formatPercent, missing, threeFigures } from "@/format";
import { useOneTenant } from "@/routes";

interface ExplainDialogProps {
  model: string;
  endpoint: string;
  open: boolean;
  onOpenChange: (open: boolean) => void;
}

const path = "/v1/models/{model}/explain";

/** How the model would route the same kind of call now. No call is made. */
export function ExplainDialog({ model, endpoint, open, onOpenChange }: ExplainDialogProps) {
  const tenant = useOneTenant();
  const explain = useQuery({
    queryKey: readKey(tenant, path, { model, endpoint }),
    queryFn: ({ signal }) => dataOf(api(tenant).POST(path, { params: { path: { model }, query: { endpoint } }, signal })),
    enabled: open,
    staleTime: 0,
  });
  const call = { method: "POST", path: `/v1/models/${encodeURIComponent(model)}/explain`, query: { endpoint } } as const;
  return (
    <Dialog
      open={open}
      onOpenChange={onOpenChange}
      wide
      title={`Route of ${model} now`}
      description="The decision as of now, without making a call. Health, capacity and prices may have changed since the request."
      footer={<CurlButton call={call} withText />}
    >
      {explain.error ? (
        <ErrorPanel error={explain.error} onRetry={() => void explain.refetch()} />
      ) : explain.data ? (
        <Explained explain={explain.data} />
      ) : (
        <Skeleton className="my-4 w-1/2" />
      )}
    </Dialog>
  );
}

const cell = "px-2 py-1.5 first:pl-0 last:pr-0";
const number = `${cell} num text-right whitespace-nowrap`;

function Explained({ explain }: { explain: Schemas["Explain"] }) {
  return (
    <div className="flex flex-col gap-3 pb-2">
      <p className="text-14">
        {explain.chosen ? (
          <>
            <span className="font-medium">{explain.chosen}</span> would be called: {explain.reason}.
          </>
        ) : (
          <>No target would be called: {explain.reason}.</>
        )}{" "}
        <span className="text-ink-3">Policy {explain.policy}.</span>
      </p>
      <section aria-label="Targets of the model" tabIndex={0} className="overflow-x-auto">
        <table className="w-full text-13">
          <thead className="text-12 text-ink-3">
            <tr className="border-b border-line text-left">
              <th className={`${cell} font-normal`}>Place</th>
              <th className={`${cell} font-normal`}>Target</th>
              <th className={`${number} font-normal`}>Cost</th>
              <th className={`${number} font-normal`}>Latency</th>
              <th className={`${number} font-normal`}>Quality</th>
              <th className={`${number} font-normal`}>Headroom</th>
              <th className={`${number} font-normal`}>Score</th>
            </tr>
          </thead>
          <tbody>
            {explain.targets.map((t) => (
              <tr key={t.target} className="border-b border-line align-top last:border-b-0">
                <td className={`${cell} num`}>{t.place ?? missing}</td>
                <td className={cell}>
                  <span className="inline-flex flex-wrap items-center gap-2">
                    <span className="font-medium">{t.target}</span>
                    {t.target === explain.chosen && <Chip hue="water">chosen</Chip>}
                  </span>
                  {(t.excluded ?? t.no_capacity) && <span className="block text-12 text-amber">{t.excluded ?? t.no_capacity}</span>}
                </td>
                <td className={number}>
                  <Cost usd={t.cost_usd} />
                </td>
                <td className={number}>{formatDuration(t.latency_ms)}</td>
                <td className={number}>{t.quality === null ? missing : threeFigures(t.quality)}</td>
                <td className={number}>{formatPercent(t.headroom)}</td>
                <td className={number}>{t.score ? threeFigures(t.score.total) : missing}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </div>
  );
}
