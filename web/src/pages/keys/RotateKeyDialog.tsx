import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "@/api";
import { Field } from "@/components/Field";
import { FormDialog } from "@/components/FormDialog";
import { Select } from "@/components/Select";
import { type Key, tenantsChanged } from "@/pages/tenants/data";
import { type Expiry, expiries, expiryField, type Overlap, overlaps } from "./expiry";

/** Replaces a key by a new one with the same name, scopes, limits and budget. Both work until the overlap ends. */
export function RotateKeyDialog({ apiKey, onClose, onRotated }: { apiKey: Key; onClose: () => void; onRotated: (key: Key) => void }) {
  const queries = useQueryClient();
  const [overlap, setOverlap] = useState<Overlap>("24h");
  const [expiry, setExpiry] = useState<Expiry>("never");
  const body = { overlap, ...expiryField(expiry) };
  const rotate = useMutation({
    mutationFn: () => dataOf(api(null).POST("/admin/v1/keys/{key}/rotate", { params: { path: { key: apiKey.id } }, body })),
    gcTime: 0, // the answer has the secret
    onSuccess: (key) => {
      tenantsChanged(queries);
      onRotated(key);
    },
  });
  return (
    <FormDialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Rotate the key ${apiKey.name}`}
      description="The new key has the same name, scopes, limits and budget. It is shown once."
      action="Rotate key"
      ready
      busy={rotate.isPending}
      error={rotate.error}
      onSubmit={() => rotate.mutate()}
      call={{ method: "POST", path: `/admin/v1/keys/${apiKey.id}/rotate`, body }}
    >
      <Field label="The old key still works for" hint="Give your deployments time to take the new key. You can revoke the old one earlier.">
        <Select label="The old key still works for" value={overlap} choices={overlaps} onChange={setOverlap} />
      </Field>
      <Field label="The new key expires">
        <Select label="The new key expires" value={expiry} choices={expiries} onChange={setExpiry} />
      </Field>
    </FormDialog>
  );
}
