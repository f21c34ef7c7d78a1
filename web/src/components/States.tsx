import { useQueryClient } from "@tanstack/react-query";
import { AlertTriangle, Lock, RefreshCw, SearchX } from "lucide-react";
import type { ReactNode } from "react";
import { type ApiError, asApiError } from "@/api";
import { Button } from "./Button";
import { CopyButton } from "./Copy";

/** Nothing is there yet: one sentence that teaches, and a command that makes the first one. */
export function EmptyState({
  title,
  children,
  command,
  action,
}: {
  title: string;
  children?: ReactNode;
  command?: string;
  action?: ReactNode;
}) {
  return (
    <div className="mx-auto flex w-full max-w-2xl flex-col gap-3 px-4 py-12">
      <div>
        <h2 className="text-16 font-semibold">{title}</h2>
        {children && <p className="mt-1 text-14 text-ink-2">{children}</p>}
      </div>
      {command && <Command text={command} />}
      {action}
    </div>
  );
}

/** A shell command with a copy button. */
export function Command({ text }: { text: string }) {
  return (
    <div className="relative rounded-card border border-line bg-sunken">
      <pre tabIndex={0} className="overflow-x-auto p-3 pr-24 font-mono text-12/5">
        {text}
      </pre>
      <div className="absolute top-2 right-2">
        <CopyButton text={text} withText label="Copy" />
      </div>
    </div>
  );
}

/** The filters leave nothing over. That is another state than an empty list. */
export function NoMatch({ what, onClear }: { what: string; onClear: () => void }) {
  return (
    <div className="flex flex-col items-center gap-3 px-4 py-16 text-center">
      <SearchX aria-hidden className="size-6 text-ink-3" strokeWidth={1.5} />
      <p className="text-14 text-ink-2">No {what} match the filters.</p>
      <Button onClick={onClear}>Clear filters</Button>
    </div>
  );
}

/** What happened, the id of the request, and Retry; or the missing role, where the server refused. */
export function ErrorPanel({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const queries = useQueryClient();
  const e = asApiError(error);
  const retry = () => {
    onRetry?.();
    // What failed here mostly failed in other parts of the page, too.
    void queries.refetchQueries({ type: "active", predicate: (q) => q.state.status === "error" }, { cancelRefetch: false });
  };
  if (e.status === 403) return <Forbidden error={e} />;
  return (
    <div role="alert" className="m-4 flex flex-wrap items-start gap-3 rounded-card border border-red-line bg-red-tint p-3">
      <AlertTriangle aria-hidden className="mt-0.5 size-4 shrink-0 text-red" strokeWidth={1.75} />
      <div className="min-w-0 flex-1">
        <p className="font-medium text-red">{e.message}</p>
        <p className="mt-0.5 flex flex-wrap items-center gap-x-2 text-12 text-ink-2">
          <span className="font-mono">{e.code}</span>
          {e.requestId && (
            <span className="inline-flex items-center gap-1">
              <span className="font-mono">{e.requestId}</span>
              <CopyButton text={e.requestId} label="Copy request id" />
            </span>
          )}
        </p>
      </div>
      {onRetry && (
        <Button small icon={RefreshCw} onClick={retry}>
          Retry
        </Button>
      )}
    </div>
  );
}

/** The person lacks a role. The server names it. */
export function Forbidden({ error }: { error: ApiError }) {
  return (
    <div className="mx-auto flex max-w-md flex-col items-center gap-2 px-4 py-16 text-center">
      <Lock aria-hidden className="size-6 text-ink-3" strokeWidth={1.5} />
      <h2 className="text-16 font-semibold">You may not see this</h2>
      <p className="text-14 text-ink-2">{error.message}</p>
      <p className="text-12 text-ink-3">Ask an admin of this tenant for the role.{error.requestId && ` Request ${error.requestId}.`}</p>
    </div>
  );
}
