import { useState } from "react";
import { Button } from "@/components/Button";
import { Checkbox } from "@/components/Checkbox";
import { Dialog } from "@/components/Dialog";
import { Command } from "@/components/States";
import { Time } from "@/components/Time";

export interface NewSecret {
  secret: string;
  /** Until then the previous secret signs as well. */
  oldUntil: string | null;
}

/** Shows a secret once. It closes only after the person has said that the secret is kept. */
export function SecretDialog({ made, onClose }: { made: NewSecret; onClose: () => void }) {
  const [kept, setKept] = useState(false);
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && kept && onClose()}
      title="The secret that signs messages"
      description="It is shown only this time. Keep it where your receiver reads its secrets."
      footer={
        <Button look="accent" disabled={!kept} onClick={onClose}>
          Close
        </Button>
      }
    >
      <div className="flex flex-col gap-3 pb-2">
        <Command text={made.secret} />
        {made.oldUntil && (
          <p className="text-ink-2">
            Until <Time iso={made.oldUntil} /> each message carries two signatures: one of this secret and one of the previous. A receiver
            that knows either accepts it, so change the receiver within that time.
          </p>
        )}
        <Checkbox label="I have copied the secret" showLabel checked={kept} onChange={setKept} />
      </div>
    </Dialog>
  );
}
