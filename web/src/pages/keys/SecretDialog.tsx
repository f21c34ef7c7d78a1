import { TriangleAlert } from "lucide-react";
import { useState } from "react";
import { basePath } from "@/api";
import { Button } from "@/components/Button";
import { Checkbox } from "@/components/Checkbox";
import { CopyButton } from "@/components/Copy";
import { Dialog } from "@/components/Dialog";
import { Time } from "@/components/Time";
import type { Key } from "@/pages/tenants/data";

/** The secret of a new key: shown here once, and nowhere again. */
export function SecretDialog({ apiKey, onClose }: { apiKey: Key; onClose: () => void }) {
  const [stored, setStored] = useState(false);
  const secret = apiKey.secret ?? "";
  const use = `export OPENAI_BASE_URL=${location.origin}${basePath}/v1\nexport OPENAI_API_KEY=${secret}`;
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && stored && onClose()}
      title={`Key ${apiKey.name} of ${apiKey.tenant}`}
      footer={
        <Button look="accent" disabled={!stored} onClick={onClose}>
          Close
        </Button>
      }
    >
      <div className="flex flex-col gap-4 pb-2">
        <p className="flex items-start gap-2 rounded-card border border-amber-line bg-amber-tint p-3 text-13">
          <TriangleAlert aria-hidden className="mt-0.5 size-4 shrink-0 text-amber" strokeWidth={1.75} />
          <span>
            This is the only time that the key is shown. Penstock keeps its hash and cannot show it again.
            {apiKey.expires_at && (
              <>
                {" "}
                It expires <Time iso={apiKey.expires_at} />.
              </>
            )}
          </span>
        </p>
        <div className="flex items-center gap-2 rounded-card border border-line bg-sunken p-3">
          <code data-secret className="min-w-0 flex-1 font-mono text-12/5 break-all">
            {secret}
          </code>
          <CopyButton text={secret} withText label="Copy key" />
        </div>
        <div className="flex flex-wrap items-center gap-2 text-12 text-ink-2">
          <span className="min-w-0 flex-1">For an SDK of OpenAI: address and key as environment variables.</span>
          <CopyButton text={use} withText label="Copy variables" />
        </div>
        <Checkbox label="I have stored the key" showLabel checked={stored} onChange={setStored} />
      </div>
    </Dialog>
  );
}
