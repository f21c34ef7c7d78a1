import { api, dataOf, type Schemas } from "@/api";
import { addCosts } from "@/format";

export type Group = Schemas["DeadLetterGroup"];
export type Filter = Schemas["DeadLetterFilter"];
export type RetriedJob = Schemas["RetriedJob"];
export type SkippedJob = Schemas["SkippedJob"];

/** How items are retried. */
export interface Terms {
  resolve: Schemas["Resolve"];
  rate: number | null;
}

/** The effect of a dry run over some filters. */
export interface Effect {
  /** All dead letters that the filters select, for each filter. */
  counts: number[];
  jobs: number;
  /** The items that the dry run priced; the server looks at 1,024 for each filter. */
  priced: number;
  /** The most that one attempt at each of these can cost. */
  atMost: string;
  skipped: SkippedJob[];
}

export function totalOf(effect: Effect): number {
  return effect.counts.reduce((sum, n) => sum + n, 0) - skippedItems(effect);
}

export function skippedItems({ skipped }: Pick<Effect, "skipped">): number {
  return skipped.reduce((sum, s) => sum + s.items, 0);
}

type Answer = Schemas["DeadLetterRetried"];

/** Several dry runs as one. */
export function effectOf(answers: readonly Answer[]): Effect {
  return {
    counts: answers.map((a) => a.items + a.remaining),
    jobs: answers.reduce((sum, a) => sum + a.jobs.length, 0),
    priced: answers.reduce((sum, a) => sum + a.items, 0),
    atMost: addCosts(answers.map((a) => a.at_most.cost_usd)),
    skipped: answers.flatMap((a) => a.skipped),
  };
}

function retry(tenant: string, filter: Filter, terms: Terms, dryRun: boolean): Promise<Answer> {
  const body = {
    filter,
    resolve: terms.resolve,
    ...(terms.rate === null ? {} : { rate: terms.rate }),
    ...(dryRun ? { dry_run: true } : {}),
  };
  return dataOf(api(tenant).POST("/v1/dead_letters/retry", { body }));
}

export async function tryRetry(tenant: string, filters: readonly Filter[], terms: Terms): Promise<Effect> {
  const answers: Answer[] = [];
  for (const filter of filters) answers.push(await retry(tenant, filter, terms, true));
  return effectOf(answers);
}

/** The result of a retry so far. */
export interface Progress {
  jobs: RetriedJob[];
  skipped: SkippedJob[];
  items: number;
}

/**
 * Retries all dead letters of the filters. A call takes 1,024 items or 32 jobs, so it calls until the count of the dry run is reached: items that fail
 * again meanwhile become new dead letters, and are not retried once more.
 */
export async function retryAll(
  tenant: string,
  filters: readonly Filter[],
  terms: Terms,
  effect: Effect,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  let progress: Progress = { jobs: [], skipped: [], items: 0 };
  for (const [i, filter] of filters.entries()) {
    let left = effect.counts[i] ?? 0;
    while (left > 0) {
      const answer = await retry(tenant, filter, terms, false);
      left -= answer.items;
      const skipped = [...progress.skipped.filter((s) => !answer.skipped.some((a) => a.job_id === s.job_id)), ...answer.skipped];
      progress = { jobs: [...progress.jobs, ...answer.jobs], skipped, items: progress.items + answer.items };
      onProgress(progress);
      if (answer.items === 0) break;
    }
  }
}

/** How many dead letters the filters select. */
export async function tryDismiss(tenant: string, filters: readonly Filter[]): Promise<number[]> {
  const counts: number[] = [];
  for (const filter of filters) {
    const { items, remaining } = await dataOf(api(tenant).POST("/v1/dead_letters/dismiss", { body: { filter, dry_run: true } }));
    counts.push(items + remaining);
  }
  return counts;
}

/** Dismisses as many as the dry run counted, 1,000 with each call. */
export async function dismissAll(tenant: string, filters: readonly Filter[], counts: readonly number[]): Promise<number> {
  let done = 0;
  for (const [i, filter] of filters.entries()) {
    let left = counts[i] ?? 0;
    while (left > 0) {
      const { items } = await dataOf(api(tenant).POST("/v1/dead_letters/dismiss", { body: { filter } }));
      if (items === 0) break;
      left -= items;
      done += items;
    }
  }
  return done;
}
