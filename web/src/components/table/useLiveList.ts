import { type InfiniteData, keepPreviousData, useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { read, readPages } from "@/api";
import { useLiveState } from "@/live";

interface Page<T> {
  data: readonly T[];
  has_more?: boolean;
}

type ListPath = Parameters<typeof readPages>[1];

/**
 * A list of records, newest first, that follows the event stream. New rows insert only while the first row is in view. Farther down the
 * loaded pages stay as they are, and `fresh` counts the rows above them. Back at the top, only the first page is kept, so that an event
 * reads one page and not all.
 */
export function useLiveList<T extends { id: string }>(tenant: string, path: ListPath, query: Record<string, string | number>) {
  const [atTop, setAtTop] = useState(true);
  const { paused } = useLiveState();
  const client = useQueryClient();
  const pages = readPages(tenant, path, query);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another query is another list, which starts at its top.
  useEffect(() => setAtTop(true), [tenant, query]);

  const staleTime = paused ? Number.POSITIVE_INFINITY : 5_000;
  const list = useInfiniteQuery({ ...pages, enabled: atTop, staleTime, placeholderData: keepPreviousData });
  const rows = useMemo(() => list.data?.pages.flatMap((p) => (p as unknown as Page<T>).data) ?? [], [list.data]);

  const head = useQuery({ ...read(tenant, path, { params: { query } } as never), enabled: !atTop && !paused, staleTime });
  const first = rows[0]?.id;
  const newest = head.data as unknown as Page<T> | undefined;
  const at = newest?.data.findIndex((row) => row.id === first) ?? 0;
  const more = newest !== undefined && at < 0 && Boolean(newest.has_more);
  const count = !newest || atTop ? 0 : at < 0 ? newest.data.length : at;

  const onTop = (now: boolean) => {
    if (now === atTop) return;
    if (now && !paused) {
      client.setQueryData<InfiniteData<unknown>>(
        pages.queryKey as readonly unknown[],
        (old) => old && { pages: old.pages.slice(0, 1), pageParams: old.pageParams.slice(0, 1) },
      );
      void client.invalidateQueries({ queryKey: pages.queryKey, exact: true });
    }
    setAtTop(now);
  };
  return { list, rows, onTop, fresh: { count, more } };
}
