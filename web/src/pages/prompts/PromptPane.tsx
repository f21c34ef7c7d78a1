import { useQuery } from "@tanstack/react-query";
import { ArrowRight } from "lucide-react";
import { read } from "@/api";
import { Id } from "@/components/Id";
import { KeyValue, PaneSection } from "@/components/KeyValue";
import { ErrorPanel } from "@/components/States";
import { Time, TimeAgo } from "@/components/Time";
import { useOneTenant } from "@/routes";
import { Labels } from "./Labels";
import { LabelChip, PromptLink } from "./Names";
import { type Move, type Prompt, type Protection, personWord, protectionOf } from "./prompt";
import { Requests } from "./Requests";

export interface PromptPaneProps {
  prompt: Prompt;
  onMove: (version: number, label: string) => void;
  onShow: (version: number) => void;
}

/** Beside the content: labels, requests, uses and the history. Each part has its own query. */
export function PromptPane({ prompt, onMove, onShow }: PromptPaneProps) {
  const tenant = useOneTenant();
  const path = { name: prompt.name };
  const history = useQuery(read(tenant, "/v1/prompts/{name}/history", { params: { path, query: { limit: 50 } } }));
  const moves = history.data?.data ?? [];
  return (
    <>
      <Labels prompt={prompt} moves={moves} onMove={onMove} onShow={onShow} />
      <Requests prompt={prompt} />
      <Uses prompt={prompt} />
      <PaneSection title="Label history">
        {history.error && <ErrorPanel error={history.error} onRetry={() => void history.refetch()} />}
        {history.data && moves.length === 0 && <p className="py-1 text-ink-3">No label was moved yet.</p>}
        <ol>
          {moves.map((move) => (
            <MoveRow key={move.seq} move={move} />
          ))}
        </ol>
        {history.data?.has_more && <p className="pt-1 text-12 text-ink-3">The last {moves.length} moves. The API has all of them.</p>}
      </PaneSection>
      <Protected prompt={prompt} />
      <PaneSection title="Prompt">
        <KeyValue
          facts={[
            { name: "Name", value: <span className="font-mono text-12">{prompt.name}</span>, copy: prompt.name },
            { name: "Id", value: <Id id={prompt.id} />, copy: prompt.id },
            { name: "Kind", value: prompt.kind },
            { name: "Created", value: <Time iso={prompt.created_at} /> },
            { name: "By", value: personWord(prompt.created_by) },
            ...(prompt.archived_at ? [{ name: "Archived", value: <Time iso={prompt.archived_at} /> }] : []),
          ]}
        />
      </PaneSection>
    </>
  );
}

function MoveRow({ move }: { move: Move }) {
  const side = (version: number | null) => (version === null ? "none" : `v${version}`);
  return (
    <li className="border-t border-line py-1.5 first:border-t-0">
      <div className="flex items-center gap-1.5">
        <LabelChip label={move.label} />
        <span className="num text-ink-2">{side(move.from)}</span>
        <ArrowRight aria-label="to" className="size-3 text-ink-3" strokeWidth={1.75} />
        <span className="num font-medium">{side(move.to)}</span>
        <span className="ml-auto text-12 text-ink-3">
          <TimeAgo iso={move.at} />
        </span>
      </div>
      <div className="text-12 break-words text-ink-2">
        {personWord(move.by)}
        {move.approved_by && `, approved by ${personWord(move.approved_by)}`}
        {move.reason && <span className="text-ink-3">: {move.reason}</span>}
      </div>
    </li>
  );
}

/** The versions of other prompts that include this one. */
function Uses({ prompt }: { prompt: Prompt }) {
  const tenant = useOneTenant();
  const uses = useQuery(read(tenant, "/v1/prompts/{name}/uses", { params: { path: { name: prompt.name } } }));
  if (uses.error) return <ErrorPanel error={uses.error} onRetry={() => void uses.refetch()} />;
  if (!uses.data || (uses.data.dependants.length === 0 && prompt.kind === "chat")) return null; // only texts can be included
  const { dependants, has_more } = uses.data;
  return (
    <PaneSection title="Included by" aside={dependants.length > 0 ? `${dependants.length}${has_more ? "+" : ""}` : undefined}>
      {dependants.length === 0 && <p className="py-1 text-ink-3">No version of another prompt includes it.</p>}
      <ul>
        {dependants.slice(0, 20).map((d) => (
          <li key={`${d.name}@${d.version}/${d.of}`} className="flex min-h-7 items-center gap-2">
            <span className="min-w-0 flex-1 truncate">
              <PromptLink name={d.name} version={d.version} />
            </span>
            <span className="num text-12 text-ink-3">includes v{d.of}</span>
          </li>
        ))}
      </ul>
      {dependants.length > 20 && <p className="text-12 text-ink-3">and {dependants.length - 20} more</p>}
    </PaneSection>
  );
}

/** The protections that concern this prompt. */
function Protected({ prompt }: { prompt: Prompt }) {
  const tenant = useOneTenant();
  const all = useQuery(read(tenant, "/v1/prompt_protections")).data?.data ?? [];
  const mine = all.filter((p) => protectionOf(all, p.label, prompt.name) === p);
  if (mine.length === 0) return null;
  return (
    <PaneSection title="Protection">
      <ul className="flex flex-col gap-1">
        {mine.map((p) => (
          <li key={p.label} className="flex flex-wrap items-center gap-2">
            <LabelChip label={p.label} protect />
            <span className="text-12 text-ink-2">{ruleWords(p)}</span>
          </li>
        ))}
      </ul>
    </PaneSection>
  );
}

function ruleWords(p: Protection): string {
  const roles = p.roles.join(" or ");
  return p.approval ? `needs the approval of another ${roles}` : `is moved by ${roles}`;
}
