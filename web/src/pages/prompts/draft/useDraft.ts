import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { api, asApiError, dataOf, readKey, type Schemas } from "@/api";
import { useOneTenant } from "@/routes";
import { Autosave, type SaveState } from "./autosave";
import { type Form, formOf, type Mistake, orderOf } from "./form";

export type Draft = Schemas["PromptDraft"];

export interface DraftEditing {
  /** null while it loads. */
  form: Form | null;
  /** The draft as the server has it; null while there is none. */
  stored: Draft | null;
  state: SaveState;
  /** Why the last save failed, or why the draft did not load. */
  error: unknown;
  /** Somebody else wrote the draft since this page read it. */
  lost: boolean;
  /** Texts that keep the form from being saved. */
  mistakes: readonly Mistake[];
  change: (edit: (old: Form) => Form) => void;
  /** Saves now. Returns whether the server has the form. */
  flush: () => Promise<boolean>;
  /** Loads the draft of the server in the place of the form. */
  reload: () => void;
  /** Writes the form over the draft of the server. */
  overwrite: () => void;
}

async function readDraft(tenant: string, name: string): Promise<Draft | null> {
  try {
    return await dataOf(api(tenant).GET("/v1/prompts/{name}/draft", { params: { path: { name } } }));
  } catch (error) {
    if (asApiError(error).status === 404) return null;
    throw error;
  }
}

/** The form to begin with: the draft, or else a version, or else an empty message. */
async function readForm(tenant: string, { name, kind, base }: Subject): Promise<{ form: Form; draft: Draft | null }> {
  const draft = await readDraft(tenant, name);
  if (draft) return { form: formOf(draft), draft };
  const blank = { kind, text: "", messages: [{ role: "user", content: "" }], config: {}, input_schema: null };
  if (base === null) return { form: formOf(blank), draft };
  const path = { name, version: String(base) };
  return { form: formOf(await dataOf(api(tenant).GET("/v1/prompts/{name}/versions/{version}", { params: { path } }))), draft };
}

/** The prompt of a draft, and the version that a new draft begins with. */
export interface Subject {
  name: string;
  kind: "text" | "chat";
  base: number | null;
}

/** A draft that is edited here and saved after each pause, by compare-and-set: it never overwrites the work of another person. */
export function useDraft({ name, kind, base }: Subject): DraftEditing {
  const tenant = useOneTenant();
  const queries = useQueryClient();
  const [form, setForm] = useState<Form | null>(null);
  const [stored, setStored] = useState<Draft | null>(null);
  const [state, setState] = useState<SaveState>("saved");
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);
  const known = useRef<Draft | null>(null);
  const current = useRef<Form | null>(null); // two edits may come before the next rendering
  const keep = useCallback((draft: Draft | null) => {
    known.current = draft;
    setStored(draft);
  }, []);

  const saver = useMemo(
    () =>
      new Autosave<Form>(
        async (value) => {
          const old = known.current;
          const header = old ? { "If-Match": old.etag } : { "If-None-Match": "*" };
          const from = old ? old.base : base;
          const body = { ...orderOf(value).order, ...(from ? { base: from } : {}) };
          keep(await dataOf(api(tenant).PUT("/v1/prompts/{name}/draft", { params: { path: { name }, header }, body })));
          if (!old) void queries.invalidateQueries({ queryKey: readKey(tenant, "/v1/prompts/{name}") });
        },
        (now, why) => {
          setState(now);
          setError(why);
        },
      ),
    [tenant, name, base, keep, queries],
  );

  // biome-ignore lint/correctness/useExhaustiveDependencies: another round loads the draft again.
  useEffect(() => {
    let here = true;
    readForm(tenant, { name, kind, base }).then(
      ({ form: loaded, draft }) => {
        if (!here) return;
        saver.forget();
        keep(draft);
        current.current = loaded;
        setForm(loaded);
        setState("saved");
        setError(null);
      },
      (why: unknown) => here && setError(why),
    );
    return () => {
      here = false;
    };
  }, [tenant, name, kind, base, round, saver, keep]);

  useEffect(() => {
    const ask = (event: BeforeUnloadEvent) => saver.dirty && event.preventDefault();
    window.addEventListener("beforeunload", ask);
    return () => {
      window.removeEventListener("beforeunload", ask);
      if (saver.dirty) void saver.flush();
    };
  }, [saver]);

  const mistakes = useMemo(() => (form ? orderOf(form).mistakes : []), [form]);
  const change = (edit: (old: Form) => Form) => {
    if (!current.current) return;
    const next = edit(current.current);
    current.current = next;
    setForm(next);
    if (orderOf(next).mistakes.length === 0) saver.change(next);
    else saver.forget();
  };
  const overwrite = async () => {
    try {
      known.current = await readDraft(tenant, name);
      await saver.flush();
    } catch (why) {
      setError(why);
    }
  };
  return {
    form,
    stored,
    state,
    error,
    lost: state === "failed" && asApiError(error).status === 412,
    mistakes,
    change,
    flush: () => (mistakes.length > 0 ? Promise.resolve(false) : saver.flush()),
    reload: () => setRound((n) => n + 1),
    overwrite: () => void overwrite(),
  };
}
