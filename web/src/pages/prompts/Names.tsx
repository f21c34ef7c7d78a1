import { Link } from "@tanstack/react-router";
import { Lock } from "lucide-react";
import { Fragment } from "react";
import { Chip } from "@/components/Chip";
import { Tip } from "@/components/Tooltip";
import { useOneTenant } from "@/routes";
import { defaultLabel, driftOf, folderOf, type Label, latestLabel, leafOf, stepsTo } from "./prompt";

/** The folders of a name as links, in the title of a page. */
export function NameTitle({ name }: { name: string }) {
  const tenant = useOneTenant();
  return (
    <span className="min-w-0 truncate">
      {stepsTo(folderOf(name)).map(({ title, folder }) => (
        <Fragment key={folder}>
          <Link
            to="/t/$tenant/prompts"
            params={{ tenant }}
            search={{ folder }}
            className="font-normal text-ink-3 hover:text-ink hover:underline"
          >
            {title}
          </Link>
          <span aria-hidden className="font-normal text-ink-3">
            {" / "}
          </span>
        </Fragment>
      ))}
      {leafOf(name)}
    </span>
  );
}

/** The name of a prompt as a link to its page, with a version if there is one. */
export function PromptLink({ name, version }: { name: string; version?: number }) {
  const tenant = useOneTenant();
  return (
    <Link
      to="/t/$tenant/prompts/$"
      params={{ tenant, _splat: name }}
      search={version ? { version: String(version) } : {}}
      className="text-accent hover:underline"
    >
      <span className="font-mono text-12/5">{version ? `${name}@${version}` : name}</span>
    </Link>
  );
}

/** A label: the one that callers get by default is green, others are slate. */
export function LabelChip({ label, protect = false }: { label: string; protect?: boolean }) {
  return (
    <Chip hue={label === defaultLabel ? "green" : label === latestLabel ? "water" : "slate"}>
      {protect && <Lock aria-label="Protected" className="size-2.5" strokeWidth={2.25} />}
      {label}
    </Chip>
  );
}

/** A label with its version, and how far it is behind the newest. */
export function LabelState({ label, latest }: { label: Label; latest: number | null }) {
  const drift = driftOf(label.version, latest);
  const chip = (
    <span className="inline-flex items-center gap-1">
      <LabelChip label={label.label} />
      <span className="num text-12 text-ink-2">v{label.version}</span>
      {drift && <span className="num text-12 text-amber">{drift}</span>}
    </span>
  );
  return drift ? <Tip text={`${label.label} is ${drift} the newest version, v${latest}`}>{chip}</Tip> : chip;
}
