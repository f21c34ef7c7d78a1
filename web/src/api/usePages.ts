import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { type PageStart, readWindow } from "./query";

type Options = ReturnType<typeof readWindow>;
type Path = Parameters<typeof readWindow>[1];

/** How many rows above the window are fetched page by page; further ones by a jump. */
const nearRows = 300;

/** A list of any length for a DataTable: a window of its pages, which moves with the visible rows. `table` are the props of the table. */
export function usePages<Row, P extends Path = Path>(
  tenant: string | null,
  path: P,
  init: { path?: Record<string, string>; query: Record<string, unknown> },
) {
  const client = useQueryClient();
  const options = readWindow(tenant, path, init) as unknown as Options;
  const list = useInfiniteQuery({ ...options, placeholderData: keepPreviousData });
  const rows = useMemo(() => (list.data?.pages.flatMap((p) => (p as unknown as { data: Row[] }).data) ?? []) as Row[], [list.data]);
  const first = list.data?.pageParams[0] as PageStart | undefined;
  const before = first?.row ?? 0;

  const jump = (row: number) => {
    if (!first || list.isFetching) return;
    client.setQueryData(options.queryKey, { pages: [], pageParams: [first.pageOf(row)] } as InfiniteData<never, PageStart>);
    void list.refetch();
  };
  return {
    list,
    rows,
    table: {
      rows,
      before,
      loading: list.isPending,
      refetching: list.isRefetching && !list.isFetchingNextPage && !list.isFetchingPreviousPage,
      hasMore: list.hasNextPage && !list.isFetchNextPageError,
      loadingMore: list.isFetching,
      onMore: () => void list.fetchNextPage(),
      onBefore: (row: number) => (before - row > nearRows ? jump(row) : void list.fetchPreviousPage()),
    },
  };
}
