import { useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import { api, asApiError, dataOf, parseExact, readKey, type Schemas } from "@/api";
import { type SharedDraft, type Structure, useSharedDraft } from "@/collab";
import { useOneTenant } from "@/routes";
import type { Version } from "../prompt";
import { Autosave, type SaveState } from "./autosave";
import { type Form, formOf, type Mistake, orderOf, type Part, textsOf, withTexts } from "./form";

export type Draft = Schemas["PromptDraft"];

export interface DraftEditing {
  /** null while it loads. */
  form: Form | null;
  /** The draft as the server has it; null while there is none. */
  stored: Draft | null;
  /** The version that the form began with, while there is no draft. */
  began: Version | null;
  /** The draft as others edit it too; null while there is none, and for people who may not write. */
  shared: SharedDraft | null;
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

/** The draft as JSON; null without one. */
async function readText(tenant: string, name: string): Promise<string | null> {
  try {
    return await dataOf(api(tenant).GET("/v1/prompts/{name}/draft", { params: { path: { name } }, parseAs: "text" }));
  } catch (error) {
    if (asApiError(error).status === 404) return null;
    throw error;
  }
}

async function readDraft(tenant: string, name: string): Promise<Draft | null> {
  const text = await readText(tenant, name);
  return text === null ? null : (JSON.parse(text) as Draft);
}

interface Loaded {
  form: Form;
  draft: Draft | null;
  began: Version | null;
}

/** The form to begin with: the draft, or else a version, or else an empty message. */
async function readForm(tenant: string, { name, kind, base }: Omit<Subject, "mayWrite">): Promise<Loaded> {
  const text = await readText(tenant, name);
  if (text !== null) return { form: formOf(parseExact(text) as Draft), draft: JSON.parse(text) as Draft, began: null };
  const blank = { kind, text: "", messages: [{ role: "user", content: "" }], config: {}, input_schema: null };
  if (base === null) return { form: formOf(blank), draft: null, began: null };
  const path = { name, version: String(base) };
  const version = await dataOf(api(tenant).GET("/v1/prompts/{name}/versions/{version}", { params: { path }, parseAs: "text" }));
  return { form: formOf(parseExact(version) as Version), draft: null, began: JSON.parse(version) as Version };
}

/** The prompt of a draft, and the version that a new draft begins with. */
export interface Subject {
  name: string;
  kind: "text" | "chat";
  base: number | null;
  mayWrite: boolean;
}

/** Names the texts of a form as the structure does, in its order. */
function named(form: Form, structure: Structure): Form {
  const names = structure.texts.values();
  return withTexts(form, (part) => ({ ...part, shared: names.next().value?.id ?? null }));
}

/** The structure of a shared draft as a form. Messages and parts that the page has already keep their identities, so that editors stay. */
function sharedForm(structure: Structure, old: Form): Form {
  const form = named(formOf({ ...structure, text: structure.texts[0]?.text ?? "" }), structure);
  const known = new Map(
    old.messages.flatMap((m) => m.parts.flatMap((p) => (p.type === "text" && p.shared ? [[p.shared, { of: m.id, id: p.id }]] : []))),
  );
  const identity = (part: Part | undefined) => (part?.type === "text" && part.shared ? known.get(part.shared) : undefined);
  return {
    ...form,
    messages: form.messages.map((m) => ({
      ...m,
      id: identity(m.parts[0])?.of ?? m.id,
      parts: m.parts.map((part) => ({ ...part, id: identity(part)?.id ?? part.id })),
    })),
  };
}

/**
 * A draft that is edited here and saved after each pause, by compare-and-set: it never overwrites the work of another person. Once the server
 * has the draft, its texts are shared and saved as they are typed; the rest is its structure.
 */
export function useDraft({ name, kind, base, mayWrite }: Subject): DraftEditing {
  const tenant = useOneTenant();
  const queries = useQueryClient();
  const [form, setForm] = useState<Form | null>(null);
  const [stored, setStored] = useState<Draft | null>(null);
  const [began, setBegan] = useState<Version | null>(null);
  const [state, setState] = useState<SaveState>("saved");
  const [error, setError] = useState<unknown>(null);
  const [round, setRound] = useState(0);
  const known = useRef<Draft | null>(null);
  const current = useRef<Form | null>(null); // two edits may come before the next rendering
  const keep = useCallback((draft: Draft | null) => {
    known.current = draft;
    setStored(draft);
    if (draft) setBegan(null);
  }, []);

  const shared = useSharedDraft(tenant, name, { writes: true, open: mayWrite && stored !== null });
  const session = shared?.session ?? null;
  const live = useRef(session);
  useEffect(() => {
    live.current = session;
  }, [session]);

  const saver = useMemo(
    () =>
      new Autosave<Form>(
        async (value) => {
          const old = known.current;
          if (live.current?.snapshot().structure) {
            const texts = textsOf(value).map((t) => t.shared ?? "");
            await live.current.restructure({ ...orderOf(value).order, ...(old?.base ? { base: old.base } : {}), texts });
            return;
          }
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
      ({ form: loaded, draft, began: version }) => {
        if (!here) return;
        saver.forget();
        keep(draft);
        setBegan(version);
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

  const put = useCallback((next: Form) => {
    current.current = next;
    setForm(next);
  }, []);

  // Somebody changed the structure, or the server named the texts of this page.
  const adopt = useEffectEvent((structure: Structure) => {
    const old = current.current;
    if (!old || !session) return;
    const texts = textsOf(old);
    const same = texts.length === structure.texts.length && texts.every((t, i) => t.shared === null || t.shared === structure.texts[i]?.id);
    if (same) {
      // What the person typed since the page wrote these texts. Until the texts have names, the page may have read them some time ago.
      const written = texts.some((t) => t.shared !== null) || !known.current ? structure.texts : textsOf(formOf(known.current));
      for (const [i, t] of texts.entries()) {
        const name = structure.texts[i]?.id ?? "";
        if (t.shared === null && t.text !== written[i]?.text) session.documents.get(name)?.become(t.text);
      }
    }
    const mine = same ? named(old, structure) : old;
    put(saver.dirty ? mine : sharedForm(structure, mine));
  });
  const structure = shared?.structure ?? null;
  useEffect(() => {
    if (structure) adopt(structure);
  }, [structure]);

  // The form has the texts as everybody edits them.
  const follow = useEffectEvent(() => {
    const old = current.current;
    if (!old || !session) return;
    const textOf = (id: string | null) => (id === null ? undefined : session.documents.get(id)?.text);
    if (textsOf(old).some((t) => (textOf(t.shared) ?? t.text) !== t.text))
      put(withTexts(old, (t) => ({ ...t, text: textOf(t.shared) ?? t.text })));
  });
  useEffect(() => {
    if (shared) follow();
  }, [shared]);

  // After a pause the server says what is wrong with the draft, and has a new ETag for the preview.
  const versions =
    session && structure ? [structure.etag, ...[...session.documents.values()].map((d) => `${d.id} ${d.version}`)].join() : "";
  const [seen, setSeen] = useState("");
  const reread = useCallback(async () => {
    const draft = await readDraft(tenant, name);
    keep(draft);
    setSeen(versions);
  }, [tenant, name, keep, versions]);
  useEffect(() => {
    if (versions === "" || versions === seen) return;
    const timer = setTimeout(() => void reread().catch(() => {}), 400);
    return () => clearTimeout(timer);
  }, [versions, seen, reread]);

  // Somebody discarded the draft: the texts stay on this page, and the next change begins a new one.
  const gone = shared?.status === "gone";
  useEffect(() => {
    if (!gone) return;
    keep(null);
    if (current.current) put(withTexts(current.current, (t) => ({ ...t, shared: null })));
  }, [gone, keep, put]);

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
      await session?.reread();
      await saver.flush();
    } catch (why) {
      setError(why);
    }
  };
  const flush = async () => {
    if (mistakes.length > 0 || !(await saver.flush())) return false;
    if (session && !(await session.saved())) return false;
    if (session) keep(await readDraft(tenant, name));
    return true;
  };
  const typing = shared !== null && shared.status !== "gone" && (shared.unsent > 0 || versions !== seen);
  return {
    form,
    stored,
    began,
    shared,
    state: state === "saved" && typing ? "saving" : state,
    error,
    lost: state === "failed" && asApiError(error).status === 412,
    mistakes,
    change,
    flush,
    reload: () => setRound((n) => n + 1),
    overwrite: () => void overwrite(),
  };
}
