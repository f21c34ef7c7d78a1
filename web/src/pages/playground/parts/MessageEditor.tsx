import { FileUp, ImagePlus, Link2, X } from "lucide-react";
import { useRef, useState } from "react";
import { IconButton } from "@/components/Button";
import { Menu, MenuItem } from "@/components/Menu";
import { toast } from "@/components/Toast";
import { plural } from "@/format";
import { imageFiles, maxImages, readImage } from "../setup/images";
import { type EditedMessage, messageRoles } from "../setup/messages";
import { Images } from "./Images";
import { roleName } from "./PromptText";
import { TemplateInput } from "./TemplateInput";

export interface MessageEditorProps {
  /** "message 1 of column A", for screen readers. */
  name: string;
  message: EditedMessage;
  onChange: (message: EditedMessage) => void;
  onRemove?: () => void;
}

/** One message: its role, its template, its images. Images can be pasted and dropped. */
export function MessageEditor({ name, message, onChange, onRemove }: MessageEditorProps) {
  const files = useRef<HTMLInputElement>(null);
  const [addressing, setAddressing] = useState(false);
  const add = async (chosen: readonly File[]) => {
    const images = [...message.images];
    for (const file of chosen) {
      if (images.length >= maxImages) {
        toast(`A message has at most ${plural(maxImages, "image")}`);
        break;
      }
      const read = await readImage(file);
      if ("problem" in read) toast(read.problem);
      else images.push({ url: read.url });
    }
    onChange({ ...message, images });
  };
  const take = (event: { preventDefault: () => void }, list: FileList | undefined) => {
    const found = imageFiles(list);
    if (found.length === 0) return;
    event.preventDefault();
    void add(found);
  };
  if (message.placeholder !== null) {
    return (
      <div className="group flex items-center gap-1 px-3 py-1 text-12 text-ink-3">
        <span className="flex-1">
          Messages of <span className="font-mono text-violet">{message.placeholder}</span>
        </span>
        {onRemove && <IconButton small icon={X} label={`Remove ${name}`} onClick={onRemove} />}
      </div>
    );
  }
  return (
    <div className="group pb-1.5">
      <div className="flex h-6 items-center pr-2 pl-2">
        <select
          aria-label={`Role of ${name}`}
          value={message.role}
          onChange={(e) => onChange({ ...message, role: e.target.value })}
          className="select h-6 rounded-chip border-0 bg-transparent px-1 text-12 font-medium text-ink-2 hover:bg-hover"
        >
          {[...new Set<string>([...messageRoles.filter((r) => r !== "tool"), message.role])].map((role) => (
            <option key={role} value={role}>
              {roleName(role)}
            </option>
          ))}
        </select>
        <span className="ml-auto flex opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 max-md:opacity-100">
          {message.role === "user" && (
            <Menu trigger={<IconButton small icon={ImagePlus} label={`Add an image to ${name}`} />}>
              <MenuItem icon={FileUp} onSelect={() => files.current?.click()}>
                Choose images…
              </MenuItem>
              <MenuItem icon={Link2} onSelect={() => setAddressing(true)}>
                Add the address of an image
              </MenuItem>
            </Menu>
          )}
          {onRemove && <IconButton small icon={X} label={`Remove ${name}`} onClick={onRemove} />}
        </span>
        <input
          ref={files}
          type="file"
          accept="image/png,image/jpeg,image/gif,image/webp"
          multiple
          hidden
          aria-label={`Images for ${name}`}
          onChange={(e) => {
            void add(imageFiles(e.target.files ?? undefined));
            e.target.value = "";
          }}
        />
      </div>
      <TemplateInput
        label={`Text of ${name}`}
        text={message.text}
        placeholder="Text, with variables such as {{question}}"
        onChange={(text) => onChange({ ...message, text })}
        onPaste={(e) => take(e, e.clipboardData.files)}
        onDrop={(e) => take(e, e.dataTransfer.files)}
      />
      <Images images={message.images} addressing={addressing} onChange={(images) => onChange({ ...message, images })} />
    </div>
  );
}
