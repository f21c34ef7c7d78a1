import { Link } from "@tanstack/react-router";
import { shortId } from "@/format";
import { pageOfId } from "@/frame/palette";
import { useTenant } from "@/routes";

const ids = /\b([a-z]+_[0-9A-HJKMNP-TV-Z]{26})\b/;

/** Text of the server in which the ids of known pages are links. */
export function LinkedText({ text }: { text: string }) {
  // Split by a group: the odd parts are the ids.
  const parts = text.split(ids);
  let at = 0;
  return parts.map((part, i) => {
    const key = at;
    at += part.length;
    return i % 2 === 1 ? <IdLink key={key} id={part} /> : <span key={key}>{part}</span>;
  });
}

/** The tail of an id, as a link to its page where there is one. */
export function IdLink({ id, whole }: { id: string; whole?: boolean }) {
  const tenant = useTenant();
  const page = pageOfId(id);
  const text = <span className="font-mono text-12/5">{whole ? id : shortId(id)}</span>;
  if (!page || tenant === null) return text;
  return (
    <Link to={`/t/${encodeURIComponent(tenant)}/${page.path}` as "/"} title={id} className="text-accent hover:underline">
      {text}
    </Link>
  );
}
