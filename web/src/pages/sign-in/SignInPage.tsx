import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter, useSearch } from "@tanstack/react-router";
import { KeyRound, LogIn } from "lucide-react";
import { useEffect, useState } from "react";
import { basePath } from "@/api";
import { Button } from "@/components/Button";
import { Field, Input } from "@/components/Field";
import { Skeleton } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { Logo } from "@/frame/Logo";
import { loginURL, meQuery, optionsQuery, signInWithKey, signInWithLink } from "@/session";
import { failureOf } from "./failure";
import { safeReturn } from "./returnTo";

/** The token of a one-time link. It is in the fragment, which no server and no log sees. */
function linkToken(): string | null {
  return new URLSearchParams(window.location.hash.slice(1)).get("token");
}

/** A centred card of 360 px: one button for each issuer, the operator key, or the one-time link. */
export function SignInPage() {
  const { return_to, error, request_id } = useSearch({ from: "/sign-in" });
  const [token, setToken] = useState(linkToken);
  useEffect(() => {
    document.title = "Sign in · Penstock";
    const follow = () => setToken(linkToken()); // a link that is pasted while this page is open
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  return (
    <main className="flex min-h-dvh items-center justify-center bg-canvas p-4">
      <div className="w-full max-w-[360px] rounded-card border border-line bg-surface p-6">
        <div className="mb-5 flex items-center gap-2.5">
          <Logo />
          <h1 className="text-18 font-semibold">Sign in to Penstock</h1>
        </div>
        {error && (
          <p role="alert" className="mb-4 rounded-control border border-red-line bg-red-tint px-3 py-2 text-red">
            {failureOf(error, request_id)}
          </p>
        )}
        {token ? <LinkForm token={token} returnTo={safeReturn(return_to)} /> : <Ways returnTo={safeReturn(return_to)} />}
      </div>
    </main>
  );
}

/** What follows a sign-in: the person is read again, and the page that was asked for opens. */
function useEnter(returnTo: string) {
  const router = useRouter();
  const queries = useQueryClient();
  return async () => {
    queries.removeQueries({ queryKey: meQuery.queryKey });
    await queries.fetchQuery(meQuery);
    router.history.replace(basePath + returnTo); // the history knows whole paths
  };
}

/** The link is used when the button is pressed: previews of chat programs open links, and must not use it up. */
function LinkForm({ token, returnTo }: { token: string; returnTo: string }) {
  const enter = useEnter(returnTo);
  const signIn = useMutation({ mutationFn: () => signInWithLink(token), onSuccess: enter });
  return (
    <div className="flex flex-col gap-3">
      <p className="text-ink-2">This link signs you in once.</p>
      <Button look="accent" icon={LogIn} busy={signIn.isPending} onClick={() => signIn.mutate()}>
        Sign in
      </Button>
      {signIn.error && <SignInError error={signIn.error} />}
    </div>
  );
}

function Ways({ returnTo }: { returnTo: string }) {
  const options = useQuery(optionsQuery);
  if (options.error) return <ErrorPanel error={options.error} onRetry={() => void options.refetch()} />;
  if (!options.data) return <Skeleton className="h-[30px]" />;
  const { issuers, key } = options.data;
  return (
    <div className="flex flex-col gap-3">
      {issuers.map((issuer) => (
        <Button key={issuer.name} look="accent" icon={LogIn} onClick={() => window.location.assign(loginURL(issuer.name, returnTo))}>
          Continue with {issuer.title}
        </Button>
      ))}
      {issuers.length > 0 && key && (
        <div className="flex items-center gap-3 text-12 text-ink-3">
          <span className="h-px flex-1 bg-line" />
          or
          <span className="h-px flex-1 bg-line" />
        </div>
      )}
      {key && <KeyForm returnTo={returnTo} main={issuers.length === 0} />}
      {issuers.length === 0 && !key && (
        <p className="text-ink-2">This server offers no way to sign in. Configure OpenID Connect or an operator key.</p>
      )}
    </div>
  );
}

function KeyForm({ returnTo, main }: { returnTo: string; main: boolean }) {
  const [key, setKey] = useState("");
  const enter = useEnter(returnTo);
  const signIn = useMutation({ mutationFn: () => signInWithKey(key.trim()), onSuccess: enter });
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(e) => {
        e.preventDefault();
        if (key.trim()) signIn.mutate();
      }}
    >
      <Field label="Operator key" hint="It is exchanged for a session and not stored in the browser.">
        <Input type="password" mono autoComplete="off" value={key} onChange={(e) => setKey(e.target.value)} />
      </Field>
      <Button type="submit" look={main ? "accent" : "plain"} icon={KeyRound} busy={signIn.isPending} disabled={!key.trim()}>
        Sign in with the key
      </Button>
      {signIn.error && <SignInError error={signIn.error} />}
    </form>
  );
}

function SignInError({ error }: { error: Error }) {
  return (
    <p role="alert" className="text-12 text-red">
      {error.message}
    </p>
  );
}
