import { Image as ImageIcon, Link2, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { IconButton } from "@/components/Button";
import { Input } from "@/components/Field";
import { formatBytes } from "@/format";
import { bytesOfURL, maxImages } from "../setup/images";
import type { Image } from "../setup/messages";

export interface ImagesProps {
  images: readonly Image[];
  /** Shows a field for the address of another image. */
  addressing?: boolean;
  onChange?: (images: Image[]) => void;
}

/** The images of a message. With `onChange`, addresses can be added and images removed. */
export function Images({ images, addressing, onChange }: ImagesProps) {
  if (images.length === 0 && !onChange) return null;
  return (
    <ul className="flex flex-wrap items-center gap-2 px-3 empty:hidden">
      {images.map((image, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same image may stand twice.
        <li key={i} className="flex max-w-full items-center gap-1.5 rounded-control border border-line bg-sunken p-1 text-12 text-ink-2">
          <Preview url={image.url} />
          {onChange && (
            <IconButton
              small
              icon={X}
              label={`Remove image ${i + 1}`}
              className="size-6"
              onClick={() => onChange(images.filter((_, at) => at !== i))}
            />
          )}
        </li>
      ))}
      {onChange && addressing && images.length < maxImages && (
        <li className="min-w-32 flex-1">
          <AddAddress onAdd={(url) => onChange([...images, { url }])} />
        </li>
      )}
    </ul>
  );
}

/** A field for the address of an image, which may have variables. */
function AddAddress({ onAdd }: { onAdd: (url: string) => void }) {
  const [text, setText] = useState("");
  const add = () => {
    if (text.trim() === "") return;
    onAdd(text.trim());
    setText("");
  };
  return (
    <Input
      aria-label="Address of another image"
      placeholder="https://… or {{photo}}"
      value={text}
      onChange={(e) => setText(e.target.value)}
      onKeyDown={(e) => {
        if (e.key !== "Enter" || e.metaKey || e.ctrlKey) return;
        e.preventDefault();
        add();
      }}
      onBlur={add}
    />
  );
}

/**
 * A small picture of an image in a data URL. It is drawn on a canvas, because the CSP of the console loads no images but its own. An address is
 * shown as text: the browser never asks other hosts.
 */
function Preview({ url }: { url: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [state, setState] = useState<"reading" | "drawn" | "broken">("reading");
  const data = bytesOfURL(url);
  const size = data?.bytes.length ?? 0;
  useEffect(() => {
    const found = bytesOfURL(url);
    if (!found) return;
    let gone = false;
    createImageBitmap(new Blob([found.bytes], { type: found.type })).then(
      (bitmap) => {
        const element = canvas.current;
        if (gone || !element) return;
        const scale = Math.min(1, 96 / Math.max(bitmap.width, bitmap.height));
        element.width = Math.max(1, Math.round(bitmap.width * scale));
        element.height = Math.max(1, Math.round(bitmap.height * scale));
        element.getContext("2d")?.drawImage(bitmap, 0, 0, element.width, element.height);
        bitmap.close();
        setState("drawn");
      },
      () => !gone && setState("broken"),
    );
    return () => {
      gone = true;
    };
  }, [url]);
  if (!data) {
    return (
      <>
        <Link2 aria-hidden className="size-4 shrink-0 text-ink-3" strokeWidth={1.75} />
        <span className="min-w-0 truncate font-mono">{url}</span>
      </>
    );
  }
  return (
    <>
      {state === "broken" ? (
        <ImageIcon aria-hidden className="size-4 shrink-0 text-ink-3" strokeWidth={1.75} />
      ) : (
        <canvas ref={canvas} role="img" aria-label="Image" className="max-h-12 max-w-20 rounded-chip" />
      )}
      <span className="num pr-1">{state === "broken" ? "Not an image" : formatBytes(size)}</span>
    </>
  );
}
