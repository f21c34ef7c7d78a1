import { infiniteQueryOptions, QueryCache, QueryClient, type QueryKey, queryOptions } from "@tanstack/react-query";
import type { MaybeOptionalInit } from "openapi-fetch";
import type { PathsWithMethod, SuccessResponseJSON } from "openapi-typescript-helpers";
import { live, markRead } from "@/live/store";
import { api } from "./client";
import { ApiError } from "./error";
import type { paths } from "./schema";

type GetPath = PathsWithMethod<paths, "get">;
type GetInit<P extends GetPath> = MaybeOptionalInit<paths[P], "get">;
type GetData<P extends GetPath> = SuccessResponseJSON<paths[P]["get"] & Record<string | number, unknown>>;

/** The key of a read: tenant first, so that a change of tenant shares nothing, then the path, so that live events can name it. */
export function readKey(tenant: string | null, path: string, init?: unknown): QueryKey {
  return init === undefined ? [tenant ?? "", path] : [tenant ?? "", path, init];
}

/**
 * The options of a query that reads one path of the API: `useQuery(read(tenant, "/v1/jobs/{id}", { params: { path: { id } } }))`.
 */
export function read<P extends GetPath>(tenant: string | null, path: P, init?: GetInit<P>) {
  return queryOptions({
    queryKey: readKey(tenant, path, init),
    queryFn: ({ signal }): Promise<GetData<P>> => get(tenant, path, init, signal),
  });
}

async function get<P extends GetPath>(tenant: string | null, path: P, init: unknown, signal: AbortSignal): Promise<GetData<P>> {
  // The types of openapi-fetch cannot follow a generic path; the signature of read has checked path and init.
  const call = api(tenant).GET as (path: string, init: object) => Promise<{ data?: unknown }>;
  const { data } = await call(path, { ...(init as object), signal });
  return data as GetData<P>;
}

/** A page of a list: entries, and where the next page starts. */
interface Page {
  data: readonly { id?: string }[];
  has_more?: boolean;
  next?: string | null;
  next_after?: string | null;
}

/**
 * The options of an infinite query over a list with keyset pages. `after` of the next page is `next` or `next_after` of the
 * answer, or the id of its last entry. `inPath` are the parameters of the path. For
 * lists that may be long, usePages keeps a window of the pages only.
 */
export function readPages<P extends GetPath>(
  tenant: string | null,
  path: P,
  query: Record<string, unknown>,
  inPath?: Record<string, string>,
) {
  return infiniteQueryOptions({
    queryKey: readKey(tenant, path, inPath ? { ...query, ...inPath } : query),
    initialPageParam: "",
    queryFn: ({ signal, pageParam }): Promise<GetData<P>> =>
      get(
        tenant,
        path,
        { params: { ...(inPath ? { path: inPath } : {}), query: { ...query, ...(pageParam ? { after: pageParam } : {}) } } },
        signal,
      ),
    getNextPageParam: (last): string | undefined => cursorAfter(last as unknown as Page),
  });
}

/** Where the page behind a page starts. A page may be empty and still be followed by another. */
function cursorAfter(page: Page): string | undefined {
  if (!page.has_more) return undefined;
  return page.next ?? page.next_after ?? page.data.at(-1)?.id;
}

/** Where a page of a window starts: behind an id, with the number of rows before it, and the start of the page before. */
export class PageStart {
  constructor(
    readonly after: string,
    readonly row: number,
    readonly before: PageStart | undefined,
  ) {}

  /** The start of the page, this or an earlier one, that has a row. */
  pageOf(row: number): PageStart {
    let start: PageStart = this;
    while (start.before && start.row > row) start = start.before;
    return start;
  }

  /** The start of the page behind a page that starts here. */
  next(page: Page): PageStart | undefined {
    const after = cursorAfter(page);
    return after === undefined ? undefined : new PageStart(after, this.row + page.data.length, this);
  }
}

/** How many pages a window has: what one list keeps in memory, and what one event of the stream reads again at most. */
const windowPages = 8;

/** Like readPages, for lists of any length: only the pages around the visible rows are kept. See usePages. */
export function readWindow<P extends GetPath>(
  tenant: string | null,
  path: P,
  init: { path?: Record<string, string>; query: Record<string, unknown> },
) {
  return infiniteQueryOptions({
    queryKey: readKey(tenant, path, { ...init, window: true }),
    initialPageParam: new PageStart("", 0, undefined),
    maxPages: windowPages,
    queryFn: ({ signal, pageParam: { after } }): Promise<GetData<P>> =>
      get(tenant, path, { params: { ...init, query: { ...init.query, ...(after ? { after } : {}) } } }, signal),
    getNextPageParam: (last, _, start): PageStart | undefined => start.next(last as unknown as Page),
    getPreviousPageParam: (_first, _, start): PageStart | undefined => start.before,
  });
}

/** The cache of all reads. A refused call is not repeated; a failed one twice. */
export function newQueryClient(): QueryClient {
  return new QueryClient({
    queryCache: new QueryCache({ onSuccess: markRead }),
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        retry: (count, error) => count < 2 && error instanceof ApiError && error.retryable,
        refetchOnWindowFocus: () => !live.get().paused,
        refetchOnReconnect: () => !live.get().paused,
      },
      mutations: { retry: false },
    },
  });
}
