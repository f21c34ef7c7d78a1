import { Plus } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/Button";
import { later } from "@/components/later";
import { useShortcuts } from "@/hooks/shortcuts";

const SubmitDialog = later(() => import("./SubmitDialog").then((m) => m.SubmitDialog));

/** "Submit job", and its key. */
export function SubmitJob({ tenant }: { tenant: string }) {
  const [open, setOpen] = useState(false);
  useShortcuts({ c: () => setOpen(true) });
  return (
    <>
      <Button look="accent" icon={Plus} hint="C" onClick={() => setOpen(true)}>
        Submit job
      </Button>
      {open && <SubmitDialog tenant={tenant} onClose={() => setOpen(false)} />}
    </>
  );
}
