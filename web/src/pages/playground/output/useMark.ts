import { useMutation } from "@tanstack/react-query";
import { api, dataOf } from "@/api";
import { type Me, useMe } from "@/session";
import type { Cell, Mark, Run } from "../api";
import { usePlayground, useRun } from "../state";

export type MarkOrder = Pick<Mark, "rating" | "comment" | "correction">;

/** Whether a mark is the person's own. The author of a run is known by id, others by the name that the server shows for them. */
export function isOwn(mark: Pick<Mark, "author">, run: Pick<Run, "mine" | "author"> | null, me: Pick<Me, "email" | "name">): boolean {
  if (run?.mine) return mark.author.id === run.author.id;
  return mark.author.name === (me.email || `person:${me.name}`);
}

/** The mark of this person on an output, those of others, and how to change it. A rating shows before the server has answered. */
export function useMark(cell: Cell | undefined) {
  const { tenant, follower } = usePlayground();
  const run = useRun();
  const me = useMe();
  const mine = (mark: Mark) => isOwn(mark, run, me);
  const own = cell?.marks.find(mine);
  const others = cell?.marks.filter((m) => !mine(m)) ?? [];
  const put = (mark: Mark | undefined) => {
    const empty = !mark || (mark.rating === null && !mark.comment && !mark.correction);
    follower?.change((r) => ({
      ...r,
      cells: r.cells.map((c) => (c.n === cell?.n ? { ...c, marks: [...c.marks.filter((m) => !mine(m)), ...(empty ? [] : [mark])] } : c)),
    }));
  };
  const save = useMutation({
    mutationFn: (body: MarkOrder) => {
      if (!run || !cell) throw new Error("There is no output.");
      return dataOf(api(tenant).PUT("/v1/playground/runs/{id}/cells/{n}/mark", { params: { path: { id: run.id, n: cell.n } }, body }));
    },
    onMutate: (body) => {
      const author = own?.author ?? (run?.mine ? run.author : { id: "", name: me.email || `person:${me.name}` });
      put({ author, at: new Date().toISOString(), ...body });
      return { before: own };
    },
    onSuccess: (mark) => put(mark),
    onError: (_error, _body, context) => put(context?.before),
  });
  return { own, others, save, allowed: follower?.live === true };
}
