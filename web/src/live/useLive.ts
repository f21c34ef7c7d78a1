import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent } from "react";
import { readKey } from "@/api";
import { follow } from "./hub";
import type { ServerEvent } from "./sse";
import { live } from "./store";

/** Which reads an event makes old: the type of the event, or its start with a star (`"job.*"`), to paths of the API. */
export type Topics = Readonly<Record<string, readonly string[]>>;

const refreshMs = 2_000; // no page reads more often
const pollMs = 10_000; // where the server has no event stream for this person

/** The paths that an event makes old. A reset says that events may be missing, so it makes all of them old. */
export function pathsFor(type: string, topics: Topics): string[] {
  if (type === "reset") return Object.values(topics).flat();
  return Object.entries(topics).flatMap(([topic, paths]) =>
    topic === type || topic === "*" || (topic.endsWith("*") && type.startsWith(topic.slice(0, -1))) ? paths : [],
  );
}

/**
 * Follows the event stream of a tenant (null for all tenants), and reads the queries again that its events make old, at most every 2 s.
 * A page calls it once; it shares the connection of the frame. `onEvent` gets each event, for numbers that an event carries itself.
 */
export function useLive(tenant: string | null, topics: Topics, onEvent?: (event: ServerEvent) => void): void {
  const client = useQueryClient();
  const seen = useEffectEvent((event: ServerEvent, refresher: Refresher) => {
    onEvent?.(event);
    refresher.add(pathsFor(event.type, topics));
  });
  const poll = useEffectEvent((refresher: Refresher) => {
    if (!live.get().paused && document.visibilityState === "visible") refresher.add(Object.values(topics).flat());
  });

  useEffect(() => {
    const refresher = new Refresher(client, tenant);
    let timer: ReturnType<typeof setInterval> | undefined;
    const leave = follow(tenant, {
      onEvent: (event) => seen(event, refresher),
      onMissing: () => {
        timer = setInterval(() => poll(refresher), pollMs);
      },
    });
    return () => {
      leave();
      clearInterval(timer);
      refresher.close();
    };
  }, [client, tenant]);
}

/** Reads old queries again: the first at once, more after 2 s together. */
class Refresher {
  private old = new Set<string>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private lastAt = 0;

  constructor(
    private readonly client: QueryClient,
    private readonly tenant: string | null,
  ) {}

  add(paths: readonly string[]): void {
    for (const path of paths) this.old.add(path);
    if (this.old.size === 0 || this.timer) return;
    this.timer = setTimeout(() => this.flush(), Math.max(0, this.lastAt + refreshMs - Date.now()));
  }

  private flush(): void {
    this.timer = undefined;
    this.lastAt = Date.now();
    for (const path of this.old) void this.client.invalidateQueries({ queryKey: readKey(this.tenant, path) });
    this.old.clear();
  }

  close(): void {
    clearTimeout(this.timer);
  }
}

/** Goes on after a pause: everything on the page is read again. */
export function resumeLive(client: QueryClient): void {
  live.set((old) => ({ ...old, paused: false, missed: 0 }));
  void client.invalidateQueries();
}

export function pauseLive(): void {
  live.set((old) => ({ ...old, paused: true, missed: 0 }));
}
