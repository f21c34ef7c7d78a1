import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { api, asApiError, dataOf } from "@/api";
import { toast } from "../Toast";
import { type Control, type ControlState, type Subject, subjectWords } from "./control";

/** The reads that show a pause. */
const paths = new Set<unknown>([
  "/admin/v1/controls",
  "/admin/v1/queues",
  "/admin/v1/targets",
  "/v1/model_definitions",
  "/v1/models/{model}/explain",
]);

function readAgain(queries: QueryClient): Promise<void> {
  return queries.invalidateQueries({ predicate: ({ queryKey }) => paths.has(queryKey[1]) });
}

type PutOptions = { dryRun?: boolean; ifAbsent?: boolean };

function put(subject: Subject, state: ControlState, reason: string, { dryRun, ifAbsent }: PutOptions = {}): Promise<Control> {
  return dataOf(
    api(null).PUT("/admin/v1/controls/{kind}/{name}", {
      params: { path: subject, query: dryRun ? { dry_run: true } : {}, header: ifAbsent ? { "If-None-Match": "*" } : {} },
      body: { state, ...(reason ? { reason } : {}) },
    }),
  );
}

function remove(subject: Subject, etag: string | undefined): Promise<Control> {
  return dataOf(
    api(null).DELETE("/admin/v1/controls/{kind}/{name}", { params: { path: subject, header: etag ? { "If-Match": etag } : {} } }),
  );
}

/** Asks the server whether a pause would be accepted. Nothing changes. */
export function tryControl(subject: Subject, state: ControlState): Promise<Control> {
  return put(subject, state, "", { dryRun: true });
}

/** Pause, drain and resume. Each says that it is done and offers Undo; Undo does nothing where somebody changed the state since. */
export function useControlActs() {
  const queries = useQueryClient();
  return useMemo(() => {
    const undoing = (act: () => Promise<unknown>, done: string) => () => {
      act()
        .then(() => toast(done))
        .catch((error) => toast("Not undone", { description: asApiError(error).message }))
        .finally(() => void readAgain(queries));
    };
    const sentence = (subject: Subject, verb: string) => {
      const words = subjectWords(subject);
      return `${words.charAt(0).toUpperCase()}${words.slice(1)} ${verb}`;
    };
    return {
      async pause(subject: Subject, state: ControlState, reason: string): Promise<void> {
        const control = await put(subject, state, reason);
        await readAgain(queries);
        toast(sentence(subject, state === "paused" ? "is paused" : "is draining"), {
          undo: undoing(() => remove(subject, control.etag), sentence(subject, "is resumed")),
        });
      },
      async resume(subject: Subject, control: Control): Promise<void> {
        await remove(subject, control.etag);
        await readAgain(queries);
        const state = control.state === "paused" ? "paused" : "draining";
        toast(sentence(subject, "is resumed"), {
          undo: undoing(
            () => put(subject, state, control.reason, { ifAbsent: true }),
            sentence(subject, state === "paused" ? "is paused" : "is draining"),
          ),
        });
      },
    };
  }, [queries]);
}
