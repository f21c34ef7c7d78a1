import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, dataOf } from "@/api";
import type { Setup } from "./api";

/** A pause in typing after which the estimate is asked for. */
const waitMs = 400;

/** The bound of the cost before anything runs. It follows the setup after a short pause, and keeps the last answer meanwhile. */
export function useEstimate(tenant: string, setup: Setup | null) {
  const [asked, setAsked] = useState<{ setup: Setup; n: number } | null>(null);
  useEffect(() => {
    if (!setup) return;
    const timer = setTimeout(() => setAsked((old) => ({ setup, n: (old?.n ?? 0) + 1 })), waitMs);
    return () => clearTimeout(timer);
  }, [setup]);
  const query = useQuery({
    // The number stands for the setup, which may hold images of megabytes.
    queryKey: [tenant, "/v1/playground/estimates", asked?.n ?? 0],
    queryFn: ({ signal }) => {
      if (!asked) throw new Error("There is no setup.");
      return dataOf(api(tenant).POST("/v1/playground/estimates", { body: { setup: asked.setup }, signal }));
    },
    enabled: asked !== null,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
    retry: false,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  return { estimate: setup ? query.data : undefined, error: setup ? query.error : null };
}
