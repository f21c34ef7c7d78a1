import { useQuery } from "@tanstack/react-query";
import { read } from "@/api";
import { ErrorPanel } from "@/components/States";
import { Tip } from "@/components/Tooltip";
import { formatBytes, formatPercent } from "@/format";

/** The bytes that the tenant has stored, against its quota. */
export function StorageMeter({ tenant }: { tenant: string }) {
  const storage = useQuery(read(tenant, "/v1/storage"));
  if (storage.error) return <ErrorPanel error={storage.error} onRetry={() => void storage.refetch()} />;
  const s = storage.data;
  if (!s) return <div className="h-10" />;
  const limit = s.limit_bytes;
  const share = limit ? s.used_bytes / limit : null;
  const whole = limit ?? Math.max(1, s.used_bytes);
  const width = (bytes: number) => `${Math.min(100, (100 * bytes) / whole)}%`;
  return (
    <div className="flex min-h-10 flex-wrap items-center gap-x-4 gap-y-1 text-12 text-ink-2">
      <span>
        <span className="num text-13 font-semibold text-ink">{formatBytes(s.used_bytes)}</span>{" "}
        {limit === null ? "stored, no quota" : `of ${formatBytes(limit)} stored (${formatPercent(share)})`}
      </span>
      <Tip text={`Files ${formatBytes(s.file_bytes)}, jobs ${formatBytes(s.job_bytes)}`}>
        <span className="flex h-2 w-48 overflow-hidden rounded-full bg-hover" aria-hidden>
          <span className={share !== null && share >= 0.9 ? "bg-amber-solid" : "bg-water-solid"} style={{ width: width(s.file_bytes) }} />
          <span className="bg-slate-solid" style={{ width: width(s.job_bytes) }} />
        </span>
      </Tip>
      <span className="flex items-center gap-1.5">
        <span aria-hidden className="size-2 rounded-[2px] bg-water-solid" /> files <span className="num">{formatBytes(s.file_bytes)}</span>
      </span>
      <span className="flex items-center gap-1.5">
        <span aria-hidden className="size-2 rounded-[2px] bg-slate-solid" /> inputs and results of jobs{" "}
        <span className="num">{formatBytes(s.job_bytes)}</span>
      </span>
      {share !== null && share >= 1 && <span className="font-medium text-red">The quota is used up: uploads and submits are refused.</span>}
    </div>
  );
}
