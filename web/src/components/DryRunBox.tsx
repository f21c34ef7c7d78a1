import type { ReactNode } from "react";
import { Skeleton } from "./Skeleton";
import { ErrorPanel } from "./States";

export interface DryRunBoxProps {
  loading: boolean;
  error: unknown;
  onRetry: () => void;
  /** The effect: the count and the cost. */
  children: ReactNode;
}

/** The effect of an act that spends, by the dry run of the server. Its height does not change while the server counts. */
export function DryRunBox({ loading, error, onRetry, children }: DryRunBoxProps) {
  if (error) return <ErrorPanel error={error} onRetry={onRetry} />;
  return (
    <div aria-live="polite" className="min-h-[68px] rounded-card border border-line bg-sunken px-3.5 py-3">
      {loading ? (
        <>
          <Skeleton className="w-2/3" />
          <Skeleton className="mt-3 w-1/2" />
        </>
      ) : (
        <>
          {children}
          <p className="mt-0.5 text-12 text-ink-3">
            Dry run of the server. The cost is the most that one attempt at each item can take; mostly it is less.
          </p>
        </>
      )}
    </div>
  );
}
