import { Connection } from "./connection";
import type { ServerEvent } from "./sse";
import { live } from "./store";

export interface Follower {
  onEvent: (event: ServerEvent) => void;
  /** The server has no event stream for this person. */
  onMissing: () => void;
}

interface Stream {
  connection: Connection;
  followers: Set<Follower>;
  missing: boolean;
}

const streams = new Map<string, Stream>();

/** Follows the events of a tenant (null for all tenants). The frame and its page share one connection. Returns the end of it. */
export function follow(tenant: string | null, follower: Follower): () => void {
  const key = tenant ?? "";
  const stream = streams.get(key) ?? open(tenant);
  streams.set(key, stream);
  stream.followers.add(follower);
  if (stream.missing) follower.onMissing();
  return () => {
    stream.followers.delete(follower);
    if (stream.followers.size > 0) return;
    stream.connection.close();
    if (streams.get(key) === stream) streams.delete(key);
  };
}

function open(tenant: string | null): Stream {
  const followers = new Set<Follower>();
  const stream: Stream = {
    followers,
    missing: false,
    connection: new Connection(
      tenant,
      (event) => {
        if (live.get().paused) live.set((old) => ({ ...old, missed: old.missed + 1 }));
        else for (const f of followers) f.onEvent(event);
      },
      () => {
        stream.missing = true;
        for (const f of followers) f.onMissing();
      },
    ),
  };
  void stream.connection.run();
  return stream;
}
