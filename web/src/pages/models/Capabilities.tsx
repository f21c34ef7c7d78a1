import {
  AudioLines,
  Braces,
  Brain,
  DatabaseZap,
  FileText,
  Globe,
  Image,
  ListOrdered,
  type LucideIcon,
  Pointer,
  Radio,
  Wrench,
} from "lucide-react";
import { Chip } from "@/components/Chip";
import { Tip } from "@/components/Tooltip";
import { missing } from "@/format";
import { capabilityWord } from "./words";

const icons: Record<string, LucideIcon> = {
  tools: Wrench,
  vision: Image,
  json_schema: Braces,
  streaming: Radio,
  rerank: ListOrdered,
  pdf_input: FileText,
  prompt_cache: DatabaseZap,
  reasoning: Brain,
  web_search: Globe,
  tool_choice: Pointer,
  audio_input: AudioLines,
  audio_output: AudioLines,
};

/** Capabilities as icons with their names on hover and for screen readers; one without an icon is a chip. */
export function Capabilities({ names }: { names: readonly string[] }) {
  if (names.length === 0) return <span className="text-ink-3">{missing}</span>;
  const words = names.map(capabilityWord).join(", ");
  return (
    <Tip text={words}>
      <span role="img" aria-label={words} className="inline-flex items-center gap-1.5 align-middle text-ink-3">
        {names.map((name) => {
          const Icon = icons[name];
          return Icon ? (
            <Icon key={name} aria-hidden className="size-4" strokeWidth={1.75} />
          ) : (
            <Chip key={name}>{capabilityWord(name)}</Chip>
          );
        })}
      </span>
    </Tip>
  );
}

/** Capabilities in words. */
export function CapabilityChips({ names }: { names: readonly string[] }) {
  return names.map((name) => <Chip key={name}>{capabilityWord(name)}</Chip>);
}
