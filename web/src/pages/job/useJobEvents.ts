import { useEffect, useRef, useState } from "react";
import { type Followed, JobStream, nothingFollowed } from "./events";

/** Follows the events of a job from now on. The server writes the look to the audit trail. */
export function useJobEvents(tenant: string, job: string, bound: number) {
  const [now, setNow] = useState<Followed>(nothingFollowed);
  const stream = useRef<JobStream | undefined>(undefined);
  useEffect(() => {
    const opened = new JobStream(tenant, job, bound, setNow);
    stream.current = opened;
    void opened.run();
    return () => opened.close();
  }, [tenant, job, bound]);
  return { ...now, more: () => stream.current?.more(bound) };
}
