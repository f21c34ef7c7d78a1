import { Chip } from "@/components/Chip";
import { JsonView } from "@/components/CodeView";
import { CopyButton } from "@/components/Copy";
import { Method } from "./Method";
import { inline, Prose } from "./Prose";
import { SchemaTree, typeWords, useSpec, Values } from "./SchemaTree";
import { type Answer, aboutOf, accessOf, answerOf, type Media, type Operation, type Param, resolve } from "./spec";

/** The reference of one operation: who may call it, parameters, body, answers and errors. */
export function OperationView({ op }: { op: Operation }) {
  const spec = useSpec();
  const body = Object.entries(op.requestBody?.content ?? {});
  const answers = Object.entries(op.responses).filter(([status]) => status !== "default");
  const failure = op.responses.default && answerOf(spec, op.responses.default);
  return (
    <article className="flex min-w-0 flex-col gap-6">
      <header className="flex flex-col gap-2">
        <h1 className="text-18 font-semibold">{op.summary}</h1>
        <div className="flex min-w-0 items-center gap-2">
          <Method method={op.method} className="text-13" />
          <span className="min-w-0 font-mono text-13 break-all">{op.path}</span>
          <CopyButton text={op.path} label="Copy path" />
          {op.deprecated && <Chip hue="red">deprecated</Chip>}
        </div>
        <Access op={op} />
        {aboutOf(op) && <Prose text={aboutOf(op)} className="text-ink-2" />}
      </header>
      <Parameters params={op.parameters ?? []} />
      {body.map(([type, media]) => (
        <Section key={type} title="Body" note={`${type}${op.requestBody?.required ? ", required" : ""}`}>
          <MediaView media={media} example />
        </Section>
      ))}
      {answers.map(([status, answer]) => (
        <Section key={status} title={`Answer ${status}`} note={Object.keys(answer.content ?? {}).join(", ")}>
          <AnswerView answer={answer} />
        </Section>
      ))}
      {failure && (
        <Section title="Errors" note="application/json">
          <Prose text={failure.description ?? ""} className="text-12/5 text-ink-2" />
        </Section>
      )}
    </article>
  );
}

function Section({ title, note, children }: { title: string; note?: string; children: React.ReactNode }) {
  return (
    <section className="min-w-0">
      <div className="flex flex-wrap items-baseline gap-x-2 border-b border-line pb-1">
        <h2 className="text-14 font-semibold">{title}</h2>
        {note && <span className="font-mono text-12 text-ink-3">{note}</span>}
      </div>
      <div className="pt-1.5">{children}</div>
    </section>
  );
}

/** Scopes of keys and roles of people. */
function Access({ op }: { op: Operation }) {
  const { scopes, roles, open } = accessOf(op);
  return (
    <div className="flex flex-wrap items-center gap-1.5 text-12 text-ink-3">
      {open && <Chip hue="green">no key needed</Chip>}
      {scopes.length > 0 && <span>Scope</span>}
      {scopes.map((scope) => (
        <Chip key={scope} mono hue="water">
          {scope}
        </Chip>
      ))}
      {roles.length > 0 && <span>{scopes.length > 0 ? "or role" : "Role"}</span>}
      {roles.map((role) => (
        <Chip key={role}>{role}</Chip>
      ))}
    </div>
  );
}

function Parameters({ params }: { params: readonly Param[] }) {
  const spec = useSpec();
  if (params.length === 0) return null;
  return (
    <Section title="Parameters">
      <ul className="flex flex-col divide-y divide-line">
        {params.map((p) => (
          <li key={`${p.in}-${p.name}`} className="py-1.5">
            <div className="flex flex-wrap items-baseline gap-x-2">
              <span className="font-mono text-12 font-medium">{p.name}</span>
              <span className="text-12 text-ink-3">
                {p.in}, {typeWords(spec, p.schema)}
              </span>
              {p.required && <span className="text-12 text-amber">required</span>}
            </div>
            <p className="text-12/5 text-ink-2">{inline(p.description)}</p>
            <Values schema={resolve(spec, p.schema).schema} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

function AnswerView({ answer }: { answer: Answer }) {
  return (
    <div className="flex flex-col gap-2">
      {answer.description && <Prose text={answer.description} className="text-12/5 text-ink-2" />}
      {Object.entries(answer.content ?? {}).map(([type, media]) => (
        <div key={type}>
          {Object.keys(answer.content ?? {}).length > 1 && <p className="font-mono text-12 text-ink-3">{type}</p>}
          <MediaView media={media} />
        </div>
      ))}
      <ul className="flex flex-col gap-0.5">
        {Object.entries(answer.headers ?? {}).map(([name, header]) => (
          <li key={name} className="text-12/5 text-ink-2">
            <span className="font-mono text-ink">{name}</span> {inline(header.description)}
          </li>
        ))}
      </ul>
    </div>
  );
}

function MediaView({ media, example }: { media: Media; example?: boolean }) {
  return (
    <div className="flex flex-col gap-2">
      {media.schema && <SchemaTree schema={media.schema} />}
      {media.example !== undefined && !example && <JsonView label="Example" value={media.example} maxHeight={260} />}
    </div>
  );
}
