import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { api, dataOf } from "@/api";
import { Button } from "@/components/Button";
import { Id } from "@/components/Id";
import { type Fact, KeyValue, PaneSection } from "@/components/KeyValue";
import { LaneBars } from "@/components/LaneBars";
import { ErrorPanel } from "@/components/States";
import { Time } from "@/components/Time";
import { useRole } from "@/session";
import { type Batch, dialectWords, isOpen, isRefused } from "./batch";

/** The facts of a batch and its files, in the right pane. */
export function Facts({ tenant, batch: b }: { tenant: string; batch: Batch }) {
  const facts: Fact[] = [
    { name: "Batch", value: <Id id={b.batch_id} />, copy: b.batch_id },
    { name: "API", value: dialectWords[b.dialect] },
    { name: "Endpoint", value: <span className="font-mono text-12">{b.endpoint}</span>, copy: b.endpoint },
    { name: "Model", value: b.model },
    { name: "Lane", value: b.lane && <LaneBars lane={b.lane} /> },
    { name: "Created", value: <Time iso={b.created_at} />, copy: b.created_at },
    { name: "Started", value: <Time iso={b.started_at} /> },
    { name: "Ended", value: <Time iso={b.finished_at} /> },
    { name: "Window ends", value: <Time iso={b.deadline} /> },
  ];
  return (
    <>
      <PaneSection title="Facts">
        <KeyValue facts={facts} />
      </PaneSection>
      {b.jobs.length > 0 && (
        <PaneSection title="Jobs" aside={b.jobs.length > 1 ? "one for each model" : undefined}>
          <ul>
            {b.jobs.map((job) => (
              <li key={job} className="min-h-7">
                <Link to={`/t/${encodeURIComponent(tenant)}/jobs/${job}` as "/"} className="font-mono text-12 text-accent hover:underline">
                  {job}
                </Link>
              </li>
            ))}
          </ul>
        </PaneSection>
      )}
      <Files tenant={tenant} batch={b} />
      {Object.keys(b.metadata).length > 0 && (
        <PaneSection title="Metadata">
          <KeyValue facts={Object.entries(b.metadata).map(([name, value]) => ({ name, value, copy: value }))} />
        </PaneSection>
      )}
    </>
  );
}

function Files({ tenant, batch: b }: { tenant: string; batch: Batch }) {
  const mayRead = useRole(tenant, "developer", "reviewer");
  const download = useMutation({
    mutationFn: (of: { file: string } | { job: string }) =>
      "file" in of
        ? dataOf(api(tenant).POST("/v1/files/{id}/url", { params: { path: { id: of.file } }, body: { expires_in: "5m" } }))
        : dataOf(api(tenant).POST("/v1/jobs/{id}/results/url", { params: { path: { id: of.job } }, body: { expires_in: "5m" } })),
    onSuccess: (link) => window.location.assign(link.url),
  });
  const rows = [
    { name: "Input", file: b.input_file_id },
    { name: "Results", file: b.output_file_id },
    { name: "Errors", file: b.error_file_id },
  ].filter((r) => r.file !== null);
  const resultsOnly = b.dialect === "anthropic" && !isOpen(b) && b.output_file_id === null && b.jobs.length === 1;
  return (
    <PaneSection title="Files" aside="JSONL">
      <ul>
        {rows.map(({ name, file }) => (
          <li key={name} className="flex min-h-8 items-center gap-2">
            <span className="w-16 text-12 text-ink-3">{name}</span>
            <span className="min-w-0 flex-1">{file && <Id id={file} />}</span>
            {file && mayRead && (
              <Button
                small
                icon={Download}
                aria-label={`Download ${name.toLowerCase()}`}
                busy={download.isPending}
                onClick={() => download.mutate({ file })}
              >
                Download
              </Button>
            )}
          </li>
        ))}
        {resultsOnly && mayRead && (
          <li className="flex min-h-8 items-center gap-2">
            <span className="w-16 text-12 text-ink-3">Results</span>
            <span className="flex-1" />
            <Button
              small
              icon={Download}
              aria-label="Download results"
              busy={download.isPending}
              onClick={() => download.mutate({ job: b.id })}
            >
              Download
            </Button>
          </li>
        )}
      </ul>
      {isOpen(b) && <p className="mt-1 text-12 text-ink-3">Results are partial until the batch ends. Its files are written then.</p>}
      {!mayRead && !isRefused(b) && (
        <p className="mt-1 text-12 text-ink-3">
          Files have payloads. You need the role developer or reviewer in this tenant to download them.
        </p>
      )}
      {mayRead && rows.length > 0 && <p className="mt-1 text-12 text-ink-3">Each download is written to the audit trail with your name.</p>}
      {download.error && <ErrorPanel error={download.error} />}
    </PaneSection>
  );
}
