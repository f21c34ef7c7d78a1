import { serverURL } from "@/api";
import { CodeView } from "@/components/CodeView";
import { Segments } from "@/components/Tabs";
import type { Values } from "./call";
import type { languages } from "./route";
import { curlSample, pythonSample, typescriptSample } from "./samples";
import type { Operation } from "./spec";

export type Language = (typeof languages)[number];

const tabs: readonly { value: Language; label: string }[] = [
  { value: "curl", label: "curl" },
  { value: "python", label: "Python" },
  { value: "typescript", label: "TypeScript" },
];
const makers = { curl: curlSample, python: pythonSample, typescript: typescriptSample };

interface SamplesProps {
  op: Operation;
  values: Values;
  body: unknown;
  language: Language;
  onLanguage: (language: Language) => void;
}

/** The call in three languages, with the values of the Try panel. */
export function Samples({ op, values, body, language, onLanguage }: SamplesProps) {
  return (
    <div className="flex flex-col gap-2">
      <div>
        <Segments label="Language" value={language} tabs={tabs} onChange={onLanguage} />
      </div>
      <CodeView label="Sample" text={makers[language]({ op, server: serverURL(), values, body })} maxHeight={320} />
    </div>
  );
}
