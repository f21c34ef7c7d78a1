/** The shapes of the playground's API, by short names. */

/** A saved prompt that a column uses: by label, by version, or its draft. */
export interface PromptRef {
  name: string;
  label?: string;
  version?: number;
  draft?: boolean;
}

export interface Part {
  type: string;
  text?: string;
  image_url?: { url: string; detail?: string } | null;
}

/** A message of a prompt, or a placeholder for a list of messages. */
export interface Message {
  role?: string;
  content?: string | Part[];
  name?: string;
  tool_calls?: unknown[];
  tool_call_id?: string;
  placeholder?: string;
}

export type Params = Record<string, unknown>;
export type Variables = Record<string, unknown>;
