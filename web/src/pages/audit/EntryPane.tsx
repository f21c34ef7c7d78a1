import { Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { Button, IconButton } from "@/components/Button";
import { Diff } from "@/components/Diff";
import { KeyValue, PaneSection } from "@/components/KeyValue";
import { Time } from "@/components/Time";
import { type AuditEntry, actorOf, pageOfSubject, textOf } from "./entry";

interface EntryPaneProps {
  entry: AuditEntry;
  onFilter: (name: "actor" | "action" | "subject", value: string) => void;
  onClose: () => void;
}

/** One entry with the difference that it made. */
export function EntryPane({ entry, onFilter, onClose }: EntryPaneProps) {
  const actor = actorOf(entry.actor);
  const page = pageOfSubject(entry);
  const before = textOf(entry.before);
  const after = textOf(entry.after);
  return (
    <>
      <PaneSection title={entry.action} aside={<IconButton small icon={X} label="Close" hint="Esc" onClick={onClose} />}>
        <KeyValue
          facts={[
            { name: "Time", value: <Time iso={entry.created_at} />, copy: entry.created_at },
            { name: "Actor", value: actor.name, copy: entry.actor },
            ...(actor.email ? [{ name: "E-mail", value: actor.email, copy: actor.email }] : []),
            ...(actor.session
              ? [{ name: "Session", value: <span className="font-mono text-12">{actor.session}</span>, copy: actor.session }]
              : []),
            { name: "Tenant", value: entry.tenant === "-" ? "None" : entry.tenant },
            {
              name: "Object",
              value: page ? (
                <Link to={page as "/"} className="font-mono text-12 text-accent hover:underline">
                  {entry.subject}
                </Link>
              ) : (
                <span className="font-mono text-12">{entry.subject}</span>
              ),
              copy: entry.subject,
            },
            { name: "Entry", value: <span className="font-mono text-12">{entry.id}</span>, copy: entry.id },
          ]}
        />
        <div className="mt-2 flex flex-wrap gap-2">
          <Button small onClick={() => onFilter("actor", actor.filter)}>
            Only this actor
          </Button>
          <Button small onClick={() => onFilter("subject", entry.subject)}>
            Only this object
          </Button>
          <Button small onClick={() => onFilter("action", entry.action)}>
            Only this action
          </Button>
        </div>
      </PaneSection>
      <PaneSection title="Change" aside={before === "" ? "new" : after === "" ? "removed" : undefined}>
        {before === "" && after === "" ? (
          <p className="text-ink-3">The entry has no values.</p>
        ) : (
          <Diff label="Before and after" before={before} after={after} />
        )}
      </PaneSection>
    </>
  );
}
