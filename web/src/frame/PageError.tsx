import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { ApiError } from "@/api";
import { ErrorPanel } from "@/components/States";

/** How browsers say that a script of the page could not be loaded. */
const notLoaded = /dynamically imported module|module script failed/i;

/** A page that could not load at all. After an upgrade of the server the scripts of an open page are gone: only a reload helps. */
export function PageError({ error }: ErrorComponentProps) {
  const router = useRouter();
  if (!(error instanceof Error && notLoaded.test(error.message)))
    return <ErrorPanel error={error} onRetry={() => void router.invalidate()} />;
  const message = "A part of this page could not be loaded. The server may be away, or may have been upgraded. Retry reloads the page.";
  return <ErrorPanel error={new ApiError(0, { message }, null)} onRetry={() => window.location.reload()} />;
}
