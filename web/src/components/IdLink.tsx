import { Link } from "@tanstack/react-router";
import { shortId } from "@/format";
import { Tip } from "./Tooltip";

/** The tail of an id that leads to its page, with the whole id on hover. `to` is a path of the console. */
export function IdLink({ id, to }: { id: string; to: string }) {
  return (
    <Tip text={<span className="font-mono">{id}</span>}>
      <Link to={to as "/"} className="font-mono text-12/5 text-accent hover:underline">
        {shortId(id)}
      </Link>
    </Tip>
  );
}
