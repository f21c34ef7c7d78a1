import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Archive, ArchiveRestore, Ellipsis, Eraser, FilePen } from "lucide-react";
import { useState } from "react";
import { api, asApiError, dataOf, parseExact, read, readKey } from "@/api";
import { IconButton } from "@/components/Button";
import { ConfirmDialog } from "@/components/ConfirmDialog";
import { CurlItem } from "@/components/Copy";
import { Menu, MenuItem, MenuSeparator } from "@/components/Menu";
import { toast } from "@/components/Toast";
import { plural } from "@/format";
import { useOneTenant } from "@/routes";
import { useRole } from "@/session";
import { useReread } from "./acts";
import { formOf, orderOf } from "./draft/form";
import { labelsOf, latestLabel, leafOf, type Prompt, type Version, writers } from "./prompt";

export interface PromptActsProps {
  prompt: Prompt;
  /** The version that shows; null for none. */
  version: number | null;
  onDraft: () => void;
}

/** The rarer acts on a prompt and on the version that shows. */
export function PromptActs({ prompt, version, onDraft }: PromptActsProps) {
  const tenant = useOneTenant();
  const mayWrite = useRole(tenant, ...writers);
  const [asking, setAsking] = useState<"archive" | "delete" | "replace" | null>(null);
  const restore = useRestore(prompt.name);
  const close = () => setAsking(null);
  return (
    <>
      <Menu trigger={<IconButton icon={Ellipsis} label="More actions" look="plain" />}>
        {mayWrite && version !== null && prompt.draft !== null && !prompt.archived_at && (
          <MenuItem icon={FilePen} onSelect={() => setAsking("replace")}>
            Replace the draft by v{version}…
          </MenuItem>
        )}
        <CurlItem call={{ path: version === null ? `/v1/prompts/${prompt.name}` : `/v1/prompts/${prompt.name}/versions/${version}` }} />
        {mayWrite && (
          <>
            <MenuSeparator />
            {version !== null && (
              <MenuItem icon={Eraser} danger onSelect={() => setAsking("delete")}>
                Delete the content of v{version}…
              </MenuItem>
            )}
            {prompt.archived_at ? (
              <MenuItem icon={ArchiveRestore} onSelect={() => restore.mutate()}>
                Restore prompt
              </MenuItem>
            ) : (
              <MenuItem icon={Archive} danger onSelect={() => setAsking("archive")}>
                Archive prompt…
              </MenuItem>
            )}
          </>
        )}
      </Menu>
      {asking === "archive" && <ArchiveDialog prompt={prompt} onClose={close} />}
      {asking === "delete" && version !== null && <DeleteDialog prompt={prompt} version={version} onClose={close} />}
      {asking === "replace" && version !== null && (
        <ReplaceDialog
          prompt={prompt}
          version={version}
          onClose={(done) => {
            close();
            if (done) onDraft();
          }}
        />
      )}
    </>
  );
}

/** Brings an archived prompt back. */
export function useRestore(name: string) {
  const tenant = useOneTenant();
  const reread = useReread(tenant);
  return useMutation({
    mutationFn: () => dataOf(api(tenant).POST("/v1/prompts/{name}/restore", { params: { path: { name } } })),
    onSuccess: () => toast("Prompt restored", { description: "Its labels name their versions again." }),
    onError: (error) => toast("The prompt is still archived", { description: asApiError(error).message }),
    onSettled: reread,
  });
}

function ArchiveDialog({ prompt, onClose }: { prompt: Prompt; onClose: () => void }) {
  const tenant = useOneTenant();
  const reread = useReread(tenant);
  const restore = useRestore(prompt.name);
  const labels = prompt.labels.filter((l) => l.label !== latestLabel).map((l) => l.label);
  const uses = useQuery(read(tenant, "/v1/prompts/{name}/uses", { params: { path: { name: prompt.name } } }));
  const archive = useMutation({
    mutationFn: () => dataOf(api(tenant).POST("/v1/prompts/{name}/archive", { params: { path: { name: prompt.name } } })),
    onSuccess: () => {
      toast("Prompt archived", { undo: () => restore.mutate() });
      onClose();
    },
    onSettled: reread,
  });
  const included = uses.data?.dependants.length ?? 0;
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Archive ${prompt.name}?`}
      effect={
        <>
          {labels.length > 0
            ? `Calls that ask for ${labels.join(", ")} or latest are refused from now on.`
            : "Calls that ask for latest are refused from now on."}{" "}
          Versions can still be named by their numbers.
          {included > 0 && ` ${plural(included, "version")} of other prompts include it and keep working.`}
        </>
      }
      undo="Restore brings the labels back as they were."
      action="Archive prompt"
      danger
      waiting={uses.isPending}
      busy={archive.isPending}
      error={archive.error}
      onConfirm={() => archive.mutate()}
      call={{ method: "POST", path: `/v1/prompts/${prompt.name}/archive` }}
    />
  );
}

function DeleteDialog({ prompt, version, onClose }: { prompt: Prompt; version: number; onClose: () => void }) {
  const tenant = useOneTenant();
  const queries = useQueryClient();
  const reread = useReread(tenant);
  const named = labelsOf(prompt, version).map((l) => l.label);
  const remove = useMutation({
    mutationFn: () =>
      dataOf(
        api(tenant).DELETE("/v1/prompts/{name}/versions/{version}", { params: { path: { name: prompt.name, version: String(version) } } }),
      ),
    onSuccess: () => {
      toast(`The content of v${version} is deleted`);
      void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/prompts/{name}/versions/{version}") });
      onClose();
    },
    onSettled: reread,
  });
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Delete the content of v${version}?`}
      effect={
        named.length > 0
          ? `${named.join(", ")} names this version. Move the label first: the content of a version that a label names cannot be deleted.`
          : "Its texts and settings are removed. Its number, hash, message and author stay, and the number is never used again."
      }
      undo="This cannot be undone."
      typed={`${leafOf(prompt.name)}@${version}`}
      action="Delete content"
      danger
      waiting={named.length > 0}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate()}
      call={{ method: "DELETE", path: `/v1/prompts/${prompt.name}/versions/${version}` }}
    />
  );
}

function ReplaceDialog({ prompt, version, onClose }: { prompt: Prompt; version: number; onClose: (done: boolean) => void }) {
  const tenant = useOneTenant();
  const reread = useReread(tenant);
  const replace = useMutation({
    mutationFn: async () => {
      const path = { name: prompt.name, version: String(version) };
      const content = await dataOf(api(tenant).GET("/v1/prompts/{name}/versions/{version}", { params: { path }, parseAs: "text" }));
      const header = prompt.draft ? { "If-Match": prompt.draft } : {};
      const body = { ...orderOf(formOf(parseExact(content) as Version)).order, base: version };
      return dataOf(api(tenant).PUT("/v1/prompts/{name}/draft", { params: { path: { name: prompt.name }, header }, body }));
    },
    onSuccess: async () => {
      toast(`The draft is a copy of v${version}`);
      await reread();
      onClose(true);
    },
    onError: reread,
  });
  const lost = replace.error !== null && asApiError(replace.error).status === 412;
  return (
    <ConfirmDialog
      open
      onOpenChange={(open) => !open && onClose(false)}
      title={`Replace the draft by v${version}?`}
      effect="The draft of this prompt is lost. Compare it with the version first if you are not sure."
      undo="This cannot be undone."
      action="Replace draft"
      danger
      busy={replace.isPending}
      error={lost ? new Error("Somebody changed the draft meanwhile. Nothing was done; look at it, and try again.") : replace.error}
      onConfirm={() => replace.mutate()}
    />
  );
}
