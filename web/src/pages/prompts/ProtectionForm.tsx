import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf, readKey, type Schemas } from "@/api";
import { Checkbox } from "@/components/Checkbox";
import { Field, Input, TextArea } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import { toast } from "@/components/Toast";
import { useOneTenant } from "@/routes";
import type { Role } from "@/session";
import { defaultLabel, labelProblem, nameProblem, type Protection } from "./prompt";

/** The roles that can move labels at all. */
const choices = ["operator", "developer", "admin"] as const satisfies readonly Role[];

export interface ProtectionFormProps {
  /** The protection to change; absent: a new one. */
  protection?: Protection;
  /** The labels that have one. */
  taken: readonly string[];
  onClose: () => void;
}

/** Protects a label. A change names the state that the person saw. */
export function ProtectionForm({ protection, taken, onClose }: ProtectionFormProps) {
  const tenant = useOneTenant();
  const queries = useQueryClient();
  const [label, setLabel] = useState(protection?.label ?? (taken.includes(defaultLabel) ? "" : defaultLabel));
  const [paths, setPaths] = useState(protection?.prompts.join("\n") ?? "");
  const [roles, setRoles] = useState<ReadonlySet<Role>>(new Set(protection?.roles ?? ["operator"]));
  const [approval, setApproval] = useState(protection?.approval ?? true);
  const prompts = paths.split("\n").flatMap((line) => line.trim() || []);
  const wrong = prompts.find((path) => nameProblem(path.replace(/\/$/, "")) !== null);
  const labelWrong = label === "" ? null : taken.includes(label) ? "This label is protected already." : labelProblem(label);
  const body: Schemas["PromptProtectionOrder"] = { prompts, roles: choices.filter((r) => roles.has(r)), approval };
  const reread = () => void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/prompt_protections") });
  const save = useMutation({
    mutationFn: () =>
      dataOf(
        api(tenant).PUT("/v1/prompt_protections/{label}", {
          params: { path: { label }, header: protection ? { "If-Match": protection.etag } : { "If-None-Match": "*" } },
          body,
        }),
      ),
    onSuccess: () => {
      toast(`${label} is protected`);
      reread();
      onClose();
    },
  });
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={protection ? `Change the protection of ${protection.label}` : "Protect a label"}
      action={protection ? "Save changes" : "Protect label"}
      ready={label !== "" && labelWrong === null && wrong === undefined && roles.size > 0}
      busy={save.isPending}
      error={save.error}
      onReload={() => {
        reread();
        onClose();
      }}
      onSubmit={() => save.mutate()}
      call={{ method: "PUT", path: `/v1/prompt_protections/${label || "LABEL"}`, body }}
    >
      {!protection && (
        <Field label="Label" error={labelWrong}>
          <Input mono autoFocus autoComplete="off" spellCheck={false} value={label} onChange={(e) => setLabel(e.target.value.trim())} />
        </Field>
      )}
      <Field
        label="Prompts"
        hint="One name or folder per line; a folder ends with /. Empty: the label of every prompt."
        error={wrong === undefined ? null : `${wrong} cannot be a name or a folder.`}
      >
        <TextArea mono rows={3} spellCheck={false} placeholder="support/" value={paths} onChange={(e) => setPaths(e.target.value)} />
      </Field>
      <fieldset>
        <legend className="mb-1 text-12 font-medium text-ink-2">Roles that may move it</legend>
        <div className="flex gap-4">
          {choices.map((role) => (
            <Checkbox
              key={role}
              label={role}
              showLabel
              checked={roles.has(role)}
              onChange={(on) => setRoles((old) => new Set(on ? [...old, role] : [...old].filter((r) => r !== role)))}
            />
          ))}
        </div>
        {roles.size === 0 && <p className="text-12 text-red">Choose one role at least.</p>}
      </fieldset>
      <div>
        <Checkbox label="Every move needs an approval" showLabel checked={approval} onChange={setApproval} />
        <p className="pl-[22px] text-12 text-ink-3">
          By somebody with one of these roles, who neither asked for the move nor wrote the version.
        </p>
      </div>
    </FormDialog>
  );
}
