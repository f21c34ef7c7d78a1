import { shortId, splitId } from "@/format";
import { CopyButton } from "./Copy";
import { Tip } from "./Tooltip";

/** The tail of an id, with the whole on hover. */
export function Id({ id }: { id: string }) {
  return (
    <Tip text={<span className="font-mono">{id}</span>}>
      <span className="font-mono text-12/5 text-ink-2">{shortId(id)}</span>
    </Tip>
  );
}

/** The whole id of a page head: the tail in ink, with a button that copies it. */
export function FullId({ id }: { id: string }) {
  const { prefix, middle, tail } = splitId(id);
  return (
    <span className="inline-flex min-w-0 items-center gap-1">
      <span className="truncate font-mono text-14 text-ink-3">
        {prefix}
        {middle}
        <span className="font-medium text-ink">{tail}</span>
      </span>
      <CopyButton text={id} label="Copy id" />
    </span>
  );
}
