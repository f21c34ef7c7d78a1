import { Link } from "@tanstack/react-router";
import { serverURL } from "@/api";
import { Command } from "@/components/States";
import { plural } from "@/format";
import { Prose } from "./Prose";
import { useSpec } from "./SchemaTree";
import { type Group, tagTitle } from "./spec";

/** The first page of the reference: address, key, version, errors, and the groups of operations. */
export function Overview({ groups }: { groups: readonly Group[] }) {
  const spec = useSpec();
  const version = spec.info["x-api-version"];
  return (
    <article className="flex min-w-0 flex-col gap-6">
      <header className="flex flex-col gap-2">
        <h1 className="text-18 font-semibold">API reference</h1>
        <Prose text={spec.info.description} className="text-14 text-ink-2" />
      </header>
      <section className="flex flex-col gap-2">
        <h2 className="text-14 font-semibold">First call</h2>
        <p className="text-ink-2">
          A key goes into the header Authorization or x-api-key. The header penstock-version chooses the version of the answers.
        </p>
        <Command
          text={`export PENSTOCK_KEY=psk_…\ncurl ${serverURL()}/v1/models \\\n  -H "Authorization: Bearer $PENSTOCK_KEY" \\\n  -H "penstock-version: ${version}"`}
        />
      </section>
      <section className="flex flex-col gap-2">
        <h2 className="text-14 font-semibold">Operations</h2>
        <ul className="grid gap-x-6 md:grid-cols-2">
          {groups.map((g) => (
            <li key={g.name} className="border-b border-line py-2">
              <Link
                to="/docs"
                search={(old) => ({ ...old, op: g.operations[0]?.operationId ?? "" })}
                className="font-medium text-accent hover:underline"
              >
                {tagTitle(g.name)}
              </Link>{" "}
              <span className="num text-12 text-ink-3">{plural(g.operations.length, "operation")}</span>
              <Prose text={g.about} className="text-12/5 text-ink-2" />
            </li>
          ))}
        </ul>
      </section>
      <section className="flex flex-col gap-2">
        <h2 className="text-14 font-semibold">Errors</h2>
        <Prose text={spec.components.responses.Error?.description ?? ""} className="text-ink-2" />
      </section>
    </article>
  );
}
