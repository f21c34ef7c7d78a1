import { type Hue, hueText } from "@/components/Chip";
import { cn } from "@/components/cn";

const hues: Record<string, Hue> = { GET: "water", POST: "green", PUT: "amber", PATCH: "amber", DELETE: "red" };

/** The method of an operation: the word is in the colour of its kind. */
export function Method({ method, className }: { method: string; className?: string }) {
  const word = method === "DELETE" ? "DEL" : method;
  return <span className={cn("font-mono text-11 font-semibold", hueText[hues[method] ?? "slate"], className)}>{word}</span>;
}
