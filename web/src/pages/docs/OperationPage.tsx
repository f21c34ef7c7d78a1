import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { basePath } from "@/api";
import { preferences } from "@/hooks/preferences";
import { type Me, meQuery } from "@/session";
import type { Values } from "./call";
import { exampleBody } from "./example";
import { OperationView } from "./OperationView";
import { type Language, Samples } from "./Samples";
import { useSpec } from "./SchemaTree";
import { canTry, type Operation } from "./spec";
import { TryPanel } from "./TryPanel";

/** One operation: the reference at the left, samples and Try at the right. */
export function OperationPage({ op }: { op: Operation }) {
  const spec = useSpec();
  const search = useSearch({ from: "/docs" });
  const navigate = useNavigate({ from: "/docs" });
  const me = useQuery({ ...meQuery, retry: false });
  const example = exampleBody(spec, op);
  const [values, setValues] = useState<Values>({});
  const [bodyText, setBodyText] = useState(example === undefined ? undefined : JSON.stringify(example, null, 2));
  const set = (change: { lang?: Language; tenant?: string }) => void navigate({ search: (old) => ({ ...old, ...change }), replace: true });
  return (
    <div className="flex flex-col xl:min-h-full xl:flex-row">
      <div className="min-w-0 flex-1 px-4 py-5 md:px-8">
        <OperationView op={op} />
      </div>
      <aside
        aria-label="Samples and Try"
        className="flex min-w-0 shrink-0 flex-col gap-5 border-line bg-sunken px-4 py-5 max-xl:border-t md:px-6 xl:w-[480px] xl:border-l"
      >
        <section className="flex flex-col gap-2">
          <h2 className="text-14 font-semibold">Sample</h2>
          <Samples op={op} values={values} body={parsed(bodyText)} language={search.lang ?? "curl"} onLanguage={(lang) => set({ lang })} />
        </section>
        <section aria-label="Try" className="flex flex-col gap-2">
          <h2 className="text-14 font-semibold">Try</h2>
          {!canTry(op) ? (
            <p className="text-ink-2">This operation is on the admin listener only. Call it with curl from a machine that reaches it.</p>
          ) : me.data ? (
            <TryPanel
              op={op}
              version={search.version}
              tenants={me.data.tenants}
              tenant={tenantOf(me.data, search.tenant)}
              onTenant={(tenant) => set({ tenant })}
              values={values}
              onValues={setValues}
              bodyText={bodyText}
              onBodyText={setBodyText}
            />
          ) : (
            !me.isPending && <SignInOffer />
          )}
        </section>
      </aside>
    </div>
  );
}

/** The tenant of the URL, else the last one of the console, else the first. */
function tenantOf(me: Me, wanted: string | undefined): string {
  const known = (id: string | undefined) => me.tenants.find((t) => t.id === id)?.id;
  return known(wanted) ?? known(preferences.get().tenant) ?? me.tenants[0]?.id ?? "";
}

function parsed(text: string | undefined): unknown {
  if (text === undefined || text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function SignInOffer() {
  return (
    <div className="flex flex-wrap items-center gap-3 rounded-card border border-line bg-surface p-3">
      <p className="min-w-0 flex-1 text-ink-2">Sign in to send this call from here, with your own role and no key.</p>
      <Link
        to="/sign-in"
        search={{ return_to: window.location.pathname.slice(basePath.length) + window.location.search }}
        className="inline-flex h-[30px] items-center rounded-control bg-accent px-3 font-medium text-on-accent hover:bg-accent-hover"
      >
        Sign in
      </Link>
    </div>
  );
}
