import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useDeferredValue, useEffect, useState } from "react";
import { api, dataOf, readKey } from "@/api";
import { Card } from "@/components/Card";
import { CurlButton } from "@/components/Copy";
import { RefetchLine } from "@/components/Skeleton";
import { ErrorPanel } from "@/components/States";
import { live } from "@/live/store";
import { ExplainForm } from "./ExplainForm";
import { ExplainResult } from "./ExplainResult";
import { bodyOf, type Need, type Question } from "./explain";
import type { ModelSearch } from "./route";

const waitMs = 300;
const againMs = 10_000; // capacity and health change without an event for tenants

/** A value that follows when it has not changed for a moment. */
function useSettled<T>(value: T): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), waitMs);
    return () => clearTimeout(timer);
  }, [value]);
  return useDeferredValue(settled);
}

function useExplain(tenant: string, model: string, question: Question) {
  const text = useSettled(JSON.stringify(question));
  return useQuery({
    queryKey: readKey(tenant, "/v1/models/{model}/explain", [model, text]),
    queryFn: ({ signal }) => {
      const asked = JSON.parse(text) as Question;
      return dataOf(
        api(tenant).POST("/v1/models/{model}/explain", {
          params: { path: { model }, query: { endpoint: asked.endpoint } },
          body: bodyOf(asked) as Record<string, never>,
          signal,
        }),
      );
    },
    placeholderData: keepPreviousData,
    gcTime: 60_000,
    refetchInterval: () => (live.get().paused ? false : againMs),
  });
}

/** A form that describes a call, and beside it the target that it would reach and why. Nothing is called. */
export function ExplainCard({ tenant, model }: { tenant: string; model: string }) {
  const search = useSearch({ from: "/frame/t/$tenant/models/$model" });
  const navigate = useNavigate({ from: "/t/$tenant/models/$model" });
  const [text, setText] = useState("Summarise this ticket in two sentences.");
  const set = (change: Partial<Record<keyof ModelSearch, string | undefined>>) =>
    void navigate({ search: (old) => ({ ...old, ...change }) as ModelSearch, replace: true, resetScroll: false });
  const question: Question = {
    endpoint: search.endpoint ?? "/v1/chat/completions",
    text,
    tokens: search.tokens ? Number(search.tokens) : undefined,
    max: search.max ? Number(search.max) : undefined,
    needs: (search.needs?.split(",") ?? []) as Need[],
  };
  const explain = useExplain(tenant, model, question);
  const path = `/v1/models/${encodeURIComponent(model)}/explain`;
  return (
    <Card
      title="Explain a route"
      note="nothing is called; the answer follows as you type"
      aside={<CurlButton call={{ method: "POST", path, query: { endpoint: question.endpoint }, body: bodyOf(question) }} />}
    >
      <RefetchLine active={explain.isFetching} />
      <div className="grid lg:grid-cols-[320px_minmax(0,1fr)]">
        <ExplainForm question={question} onText={setText} onChange={set} />
        <div className="min-w-0 border-line max-lg:border-t lg:border-l">
          {explain.error && <ErrorPanel error={explain.error} onRetry={() => void explain.refetch()} />}
          {explain.data && !explain.error && <ExplainResult explain={explain.data} />}
        </div>
      </div>
    </Card>
  );
}
