import { Dialog } from "@base-ui/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { Skeleton, useSlow } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { useMedia } from "@/hooks/media";
import { meQuery } from "@/session";
import { DocsHeader } from "./DocsHeader";
import { OperationList } from "./OperationList";
import { OperationPage } from "./OperationPage";
import { Overview } from "./Overview";
import { SpecProvider } from "./SchemaTree";
import { groupsOf, operationsOf, type Spec, searchOperations, specQuery } from "./spec";

/** The API reference, out of the document that the server itself serves. */
export function DocsPage() {
  const search = useSearch({ from: "/docs" });
  const navigate = useNavigate({ from: "/docs" });
  const spec = useQuery(specQuery(search.version));
  const me = useQuery({ ...meQuery, retry: false });
  const [listed, setListed] = useState(false);
  const slow = useSlow(spec.isPending);
  return (
    <div className="flex h-dvh flex-col overflow-hidden bg-surface">
      <DocsHeader
        me={me.data ?? null}
        versions={spec.data?.info["x-api-versions"] ?? []}
        version={spec.data?.info["x-api-version"] ?? ""}
        onVersion={(version) => void navigate({ search: (old) => ({ ...old, version }), replace: true })}
        onList={() => setListed(true)}
      />
      {spec.error ? (
        <ErrorPanel error={spec.error} onRetry={() => void spec.refetch()} />
      ) : spec.data ? (
        <SpecProvider value={spec.data}>
          <Content spec={spec.data} listed={listed} onListed={setListed} />
        </SpecProvider>
      ) : (
        <div className="flex flex-col gap-3 p-6">{slow && [1, 2, 3].map((i) => <Skeleton key={i} className="w-1/2" />)}</div>
      )}
    </div>
  );
}

function Content({ spec, listed, onListed }: { spec: Spec; listed: boolean; onListed: (open: boolean) => void }) {
  const { op: id } = useSearch({ from: "/docs" });
  const navigate = useNavigate({ from: "/docs" });
  const [typed, setTyped] = useState("");
  const wide = useMedia("(min-width: 1100px)");
  const operations = useMemo(() => operationsOf(spec), [spec]);
  const groups = useMemo(() => groupsOf(spec, searchOperations(operations, typed)), [spec, operations, typed]);
  const all = useMemo(() => groupsOf(spec, operations), [spec, operations]);
  const op = operations.find((o) => o.operationId === id);
  const title = op ? `${op.method} ${op.path}` : "API reference";
  useEffect(() => {
    document.title = `${title} · Penstock`;
  }, [title]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list closes when another operation opens.
  useEffect(() => onListed(false), [id]);

  const open = (next: string) => void navigate({ search: (old) => ({ ...old, op: next }) });
  const list = <OperationList groups={groups} current={id} typed={typed} onType={setTyped} onOpen={open} />;
  return (
    <div className="flex min-h-0 flex-1">
      {wide ? (
        <aside aria-label="Operations" className="flex w-[260px] shrink-0 flex-col border-r border-line bg-canvas">
          {list}
        </aside>
      ) : (
        <Dialog.Root open={listed} onOpenChange={onListed}>
          <Dialog.Portal>
            <Dialog.Backdrop className="popup fixed inset-0 z-40 bg-[rgb(11_15_17/40%)]" />
            <Dialog.Popup
              aria-label="Operations"
              className="fixed inset-y-0 left-0 z-50 flex w-[300px] flex-col border-r border-line bg-canvas outline-none"
            >
              {list}
            </Dialog.Popup>
          </Dialog.Portal>
        </Dialog.Root>
      )}
      <main key={id} tabIndex={-1} className="min-w-0 flex-1 overflow-y-auto outline-none">
        {id && !op ? (
          <p className="p-6 text-14 text-ink-2">This version of the API has no operation {id}.</p>
        ) : op ? (
          <OperationPage key={op.operationId} op={op} />
        ) : (
          <div className="mx-auto max-w-4xl px-4 py-5 md:px-8">
            <Overview groups={all} />
          </div>
        )}
      </main>
    </div>
  );
}
