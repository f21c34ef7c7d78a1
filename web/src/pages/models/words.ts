const policies: Record<string, string> = {
  ordered: "The first target in the list that can serve the call and has capacity",
  weighted: "Each target gets calls by its weight",
  scored: "The target with the best score of cost, latency, quality and headroom",
  cheapest: "The target where the call costs least",
  fastest: "The target that answered fastest lately",
};

/** What a policy does. */
export function policyWords(policy: string): string {
  return policies[policy] ?? policy;
}

const incapable: Record<string, string> = {
  same_vendor: "Moves to targets of the same vendor only",
  skip: "Moves to any other target",
  refuse: "Does not move: it is refused",
};

/** What happens to a call that a target cannot serve. */
export function incapableWords(rule: string): string {
  return incapable[rule] ?? rule;
}

const overflow: Record<string, string> = {
  reject: "The call is refused",
  truncate_oldest: "The oldest turns are dropped",
  truncate_middle: "The turns behind the first one are dropped, oldest first",
};

/** The rule for a conversation that is longer than the context of every target. */
export function overflowWords(rule: string): string {
  return overflow[rule] ?? rule;
}

const capabilities: Record<string, string> = {
  tools: "tools",
  vision: "images",
  json_schema: "JSON schema",
  streaming: "streaming",
  rerank: "rerank",
  pdf_input: "PDF",
  prompt_cache: "prompt cache",
  reasoning: "reasoning",
  web_search: "web search",
  tool_choice: "tool choice",
  audio_input: "audio in",
  audio_output: "audio out",
};

export function capabilityWord(name: string): string {
  return capabilities[name] ?? name.replaceAll("_", " ");
}
