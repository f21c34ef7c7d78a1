import { Check, Copy as CopyIcon, Terminal } from "lucide-react";
import { useEffect, useState } from "react";
import { type CurlCall, curlOf } from "@/api";
import { Button, IconButton } from "./Button";
import { MenuItem } from "./Menu";
import { toast } from "./Toast";

/** Puts text on the clipboard and says so. */
export async function copyText(text: string, what = "Copied"): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(what);
  } catch {
    toast("The browser did not allow copying", { description: "Select the text and copy it with the keyboard." });
  }
}

/** Copies text; a check shows that it did. */
export function CopyButton({
  text,
  label = "Copy",
  small = true,
  withText,
}: {
  text: string;
  label?: string;
  small?: boolean;
  withText?: boolean;
}) {
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return;
    const timer = setTimeout(() => setDone(false), 1500);
    return () => clearTimeout(timer);
  }, [done]);
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => setDone(true),
      () => toast("The browser did not allow copying", { description: "Select the text and copy it with the keyboard." }),
    );
  };
  const icon = done ? Check : CopyIcon;
  if (withText) {
    return (
      <Button small={small} icon={icon} onClick={copy}>
        {done ? "Copied" : label}
      </Button>
    );
  }
  return <IconButton small={small} icon={icon} label={done ? "Copied" : label} onClick={copy} />;
}

/** "Copy as curl": every action and every list offers the call behind it. */
export function CurlButton({ call, withText, small }: { call: CurlCall; withText?: boolean; small?: boolean }) {
  const copy = () => void copyText(curlOf(call), "Copied as curl");
  if (withText) {
    return (
      <Button icon={Terminal} onClick={copy}>
        Copy as curl
      </Button>
    );
  }
  return <IconButton icon={Terminal} label="Copy as curl" look="plain" onClick={copy} {...(small ? { small } : {})} />;
}

/** "Copy as curl" inside a menu. */
export function CurlItem({ call }: { call: CurlCall }) {
  return (
    <MenuItem icon={Terminal} onSelect={() => void copyText(curlOf(call), "Copied as curl")}>
      Copy as curl
    </MenuItem>
  );
}
