import { EyeOff } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button } from "./Button";

export interface RevealProps {
  /** What is hidden: "the input", "the answer". */
  what: string;
  /** The person has a role that may see it. */
  allowed: boolean;
  /** Reads and shows it; the server writes the look to the audit trail. */
  children?: () => ReactNode;
  /** In the place of children: the person asked, and the page shows it. */
  onShow?: () => void;
}

/** Hides a payload until a person with the role asks for it. Nothing of it is fetched before. */
export function Reveal({ what, allowed, children, onShow }: RevealProps) {
  const [shown, setShown] = useState(false);
  if (shown && allowed && children) return children();
  const show = () => (onShow ? onShow() : setShown(true));
  return (
    <div className="flex flex-wrap items-center gap-3 rounded-card border border-line bg-sunken px-4 py-3">
      <EyeOff aria-hidden className="size-4 text-ink-3" strokeWidth={1.75} />
      <p className="min-w-48 flex-1 text-ink-2">
        {allowed ? (
          <>{capital(what)} is hidden. Each look is written to the audit trail with your name.</>
        ) : (
          <>
            {capital(what)} is hidden. You need the role <span className="font-medium text-ink">developer</span> or{" "}
            <span className="font-medium text-ink">reviewer</span> in this tenant to see it.
          </>
        )}
      </p>
      {allowed && (
        <Button small onClick={show}>
          Show {what}
        </Button>
      )}
    </div>
  );
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
