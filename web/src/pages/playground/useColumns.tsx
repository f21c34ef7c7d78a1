import { useQueries, useQuery } from "@tanstack/react-query";
import { createContext, type ReactNode, use, useMemo, useState } from "react";
import type { Estimate } from "./api";
import { type Effective, effectiveOf, includedQuery, type LoadedPrompt, modelsQuery, ownFields, promptQuery } from "./setup/prompt";
import { type Made, setupOf } from "./setup/setup";
import { mergeFields, type VariableField } from "./setup/variables";
import { useEditor, usePlayground } from "./state";
import { useEstimate } from "./useEstimate";

/** What the page knows of the columns beside their setup. */
export interface Columns {
  models: readonly string[];
  prompts: readonly (LoadedPrompt | undefined)[];
  promptErrors: readonly unknown[];
  effective: readonly Effective[];
  fields: readonly VariableField[];
  made: Made;
  estimate: Estimate | undefined;
  estimateError: unknown;
  /** The trial that the outputs show. */
  trial: number;
  setTrial: (trial: number) => void;
  /** Outputs are marked where they differ from that of column A. */
  marking: boolean;
}

const Context = createContext<Columns | null>(null);

export function useColumns(): Columns {
  const columns = use(Context);
  if (!columns) throw new Error("This part needs the columns around it.");
  return columns;
}

/** Reads the prompts of the columns, finds their variables, and asks for the estimate. */
export function ColumnsProvider({ marking, children }: { marking: boolean; children: ReactNode }) {
  const { tenant, readOnly } = usePlayground();
  const editor = useEditor((e) => e);
  const [trial, setTrial] = useState(0);
  const models = useQuery(modelsQuery(tenant)).data;
  const { columns } = editor;
  const saved = useQueries({
    queries: columns.map((c) => ({
      ...promptQuery(tenant, c.source.from === "prompt" ? c.source.ref : { name: "" }),
      enabled: c.source.from === "prompt",
    })),
    combine: (all) => ({ data: all.map((q) => q.data), errors: all.map((q) => q.error) }),
  });
  const included = useQueries({
    queries: columns.map((c) => includedQuery(tenant, c.source.from === "text" ? c.source.content : null)),
    combine: (all) => all.map((q) => q.data),
  });
  const prompts = useMemo(() => columns.map((c, i) => (c.source.from === "prompt" ? saved.data[i] : undefined)), [columns, saved]);
  const fields = useMemo(
    () =>
      mergeFields(
        columns.map((c, i) => (c.source.from === "text" ? ownFields(c.source.content, included[i]) : (prompts[i]?.fields ?? []))),
      ),
    [columns, prompts, included],
  );
  const effective = useMemo(() => columns.map((c, i) => effectiveOf(c, prompts[i])), [columns, prompts]);
  const made = useMemo((): Made => {
    const waits = columns.findIndex((c, i) => c.source.from === "prompt" && prompts[i] === undefined);
    if (waits >= 0) return { setup: null, problem: saved.errors[waits] ? "A prompt cannot be read." : "The prompts are being read." };
    const without = effective.findIndex((e) => e.model === null);
    return without >= 0 ? { setup: null, problem: "Choose a model." } : setupOf(editor, fields);
  }, [editor, columns, prompts, saved, effective, fields]);
  const { estimate, error } = useEstimate(tenant, readOnly ? null : made.setup);

  const value = useMemo(
    (): Columns => ({
      models: models ?? [],
      prompts,
      promptErrors: saved.errors,
      effective,
      fields,
      made,
      estimate,
      estimateError: error,
      trial: Math.min(trial, Math.max(0, editor.trials - 1)),
      setTrial,
      marking,
    }),
    [models, prompts, saved, effective, fields, made, estimate, error, trial, editor.trials, marking],
  );
  return <Context value={value}>{children}</Context>;
}
