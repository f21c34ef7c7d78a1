import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { ErrorPanel } from "@/components/States";

/** A page that could not load at all. */
export function PageError({ error }: ErrorComponentProps) {
  const router = useRouter();
  return <ErrorPanel error={error} onRetry={() => void router.invalidate()} />;
}
