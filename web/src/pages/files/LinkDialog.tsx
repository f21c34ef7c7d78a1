import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, dataOf } from "@/api";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { Dialog } from "@/components/Dialog";
import { Field } from "@/components/Field";
import { Select } from "@/components/Select";
import { Command, ErrorPanel } from "@/components/States";
import { Time } from "@/components/Time";
import { type File, isoOf } from "./file";

const validity = [
  { value: "1h", label: "1 hour" },
  { value: "24h", label: "1 day" },
  { value: "168h", label: "7 days" },
] as const;

type Validity = (typeof validity)[number]["value"];

/** Makes a link that downloads the file without a key. */
export function LinkDialog({ tenant, file, onClose }: { tenant: string; file: File; onClose: () => void }) {
  const [expires, setExpires] = useState<Validity>("1h");
  const make = useMutation({
    mutationFn: () => dataOf(api(tenant).POST("/v1/files/{id}/url", { params: { path: { id: file.id } }, body: { expires_in: expires } })),
  });
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title="Make a link"
      description="Everyone who has the link can download the file until the link expires. A link cannot be taken back; only deleting the file ends it earlier."
      footer={
        <>
          <span className="mr-auto">
            <CurlButton withText call={{ method: "POST", path: `/v1/files/${file.id}/url`, body: { expires_in: expires } }} />
          </span>
          <Button onClick={onClose}>Close</Button>
          {!make.data && (
            <Button look="accent" busy={make.isPending} onClick={() => make.mutate()}>
              Make link
            </Button>
          )}
        </>
      }
    >
      <div className="flex flex-col gap-3 pb-2">
        <p className="font-medium break-all">{file.filename}</p>
        {make.data ? (
          <>
            <Command text={make.data.url} />
            <p className="text-12 text-ink-2">
              Valid until <Time iso={isoOf(make.data.expires_at)} />.
            </p>
          </>
        ) : (
          <Field label="Valid for">
            <Select label="Valid for" value={expires} choices={validity} onChange={setExpires} className="w-40" />
          </Field>
        )}
        {make.error && <ErrorPanel error={make.error} />}
      </div>
    </Dialog>
  );
}
