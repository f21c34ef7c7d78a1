import { useState } from "react";
import { CodeView } from "@/components/CodeView";
import { Segments } from "@/components/Tabs";
import { verifySnippets } from "./verify";

/** How a receiver checks a signature, in three languages. */
export function Verify() {
  const [language, setLanguage] = useState<(typeof verifySnippets)[number]["value"]>("node");
  const snippet = verifySnippets.find((s) => s.value === language) ?? verifySnippets[0];
  return (
    <div className="flex flex-col gap-2">
      <p className="text-ink-2">
        Refuse a message whose signature does not fit. The libraries of Standard Webhooks do this too. Answer 2xx within 15 s, and do the
        work afterwards.
      </p>
      <div>
        <Segments label="Language" value={language} tabs={verifySnippets} onChange={setLanguage} />
      </div>
      <CodeView label={`Verification in ${snippet.label}`} text={snippet.text} maxHeight={360} />
    </div>
  );
}
