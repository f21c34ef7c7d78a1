/** The formats of files, as the API names them. */
export const formats = [
  { value: "json", label: "Penstock, complete" },
  { value: "directory", label: "Directory of prompts" },
  { value: "dotprompt", label: "dotprompt" },
  { value: "promptfoo", label: "promptfoo" },
  { value: "openai", label: "OpenAI" },
  { value: "langfuse", label: "Langfuse" },
];
