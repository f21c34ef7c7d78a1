import { Link } from "@tanstack/react-router";
import { CopyButton } from "@/components/Copy";
import { Cost } from "@/components/Cost";
import { type Fact, KeyValue, PaneSection } from "@/components/KeyValue";
import { IdLink } from "@/components/LinkedText";
import { formatBytes, formatCount } from "@/format";
import { useOneTenant } from "@/routes";
import { Cache, Tags } from "./columns";
import type { RequestRecord } from "./RequestPage";

const link = "text-accent hover:underline";

/** The right pane: the call, what it resolved to, tokens and cost, headers, files. */
export function RequestPane({ request: r }: { request: RequestRecord }) {
  const tenant = useOneTenant();
  const list = (search: Record<string, string>, text: string) => (
    <Link to="/t/$tenant/requests" params={{ tenant }} search={search} className={link}>
      {text}
    </Link>
  );
  const configs = [...new Set(r.history.map((a) => a.config))];
  return (
    <>
      <PaneSection title="Call">
        <KeyValue
          facts={[
            { name: "Model", value: list({ model: r.model }, r.model), copy: r.model },
            { name: "Endpoint", value: <span className="font-mono text-12">{r.endpoint}</span>, copy: r.endpoint },
            { name: "Key", value: r.key ? list({ key: r.key }, r.key) : null },
            { name: "Stream", value: r.stream ? "Yes" : "No" },
            { name: "Subject", value: r.subject && list({ subject: r.subject }, r.subject), copy: r.subject ?? undefined },
            { name: "Tags", value: <Tags tags={r.tags} /> },
          ]}
        />
      </PaneSection>
      <PaneSection title="Resolved">
        <KeyValue
          facts={[
            { name: "Target", value: r.target && list({ target: r.target }, r.target), copy: r.target ?? undefined },
            {
              name: configs.length > 1 ? "Configs" : "Config",
              value: configs.length > 0 ? <span className="font-mono text-12">{configs.join(", ")}</span> : null,
              copy: configs[0],
            },
            { name: "Cache", value: <Cache cache={r.cache} /> },
          ]}
        />
      </PaneSection>
      <PaneSection title="Tokens and cost">
        <KeyValue facts={usageFacts(r)} />
      </PaneSection>
      <PaneSection title="Headers of the answer" aside={<span className="num">HTTP {r.status_code}</span>}>
        <Headers text={headersOf(r)} />
      </PaneSection>
      {r.files && r.files.length > 0 && (
        <PaneSection title="Files" aside={formatCount(r.files.length)}>
          <ul className="flex flex-col gap-1.5">
            {r.files.map((f) => (
              <li key={f.path} className="min-w-0">
                <IdLink id={f.file_id} />{" "}
                <span className="text-12 text-ink-3">
                  {f.media_type}, {formatBytes(f.bytes)}
                </span>
                <div className="truncate font-mono text-11 text-ink-3" title={f.path}>
                  {f.path}
                </div>
              </li>
            ))}
          </ul>
        </PaneSection>
      )}
    </>
  );
}

/** The token counts that are not zero, and the cost. */
function usageFacts(r: RequestRecord): Fact[] {
  const u = r.usage;
  const counts: [string, number | undefined][] = [
    ["Input", u.input_tokens],
    ["Cached input", u.cached_input_tokens || undefined],
    ["Cache writes", u.cache_write_tokens || undefined],
    ["Output", u.output_tokens],
    ["Reasoning", u.reasoning_tokens || undefined],
    ["Audio input", u.audio_input_tokens || undefined],
    ["Audio output", u.audio_output_tokens || undefined],
    ["Saved input", r.saved?.input_tokens],
    ["Saved output", r.saved?.output_tokens],
  ];
  const rows = counts.flatMap(([name, n]): Fact[] =>
    n === undefined ? [] : [{ name, value: <span className="num">{formatCount(n)}</span> }],
  );
  return [...rows, { name: "Cost", value: <Cost usd={u.cost_usd} what="settled" />, copy: u.cost_usd }];
}

/** The headers that the record tells. Those of rate limits are not stored. */
function headersOf(r: RequestRecord): string {
  const headers: [string, string | null][] = [
    ["x-request-id", r.id],
    ["x-penstock-target", r.target],
    ["x-penstock-cache", r.cache],
    ["x-penstock-cost-usd", r.stream || r.status !== "succeeded" ? null : r.usage.cost_usd],
  ];
  return headers.flatMap(([name, value]) => (value ? [`${name}: ${value}`] : [])).join("\n");
}

function Headers({ text }: { text: string }) {
  return (
    <div className="flex items-start gap-1">
      <pre className="min-w-0 flex-1 py-1 font-mono text-11/5 break-all whitespace-pre-wrap text-ink-2">{text}</pre>
      <CopyButton text={text} label="Copy headers" />
    </div>
  );
}
