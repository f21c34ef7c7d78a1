import type { Schemas } from "@/api";
import type { purposes } from "./route";

export type File = Schemas["File"];
export type Purpose = (typeof purposes)[number];

export const purposeWords: Record<Purpose, string> = {
  batch: "Batch input",
  batch_output: "Batch output",
  user_data: "Document",
  vision: "Image",
};

/** Files for requests are for models only: the server never sends them back. */
export function downloadable(file: Pick<File, "purpose">): boolean {
  return file.purpose === "batch" || file.purpose === "batch_output";
}

/** The time of a file: the API gives seconds since 1970. */
export function isoOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}

/** The purpose that a file is most likely for, by its name. */
export function likelyPurpose(name: string): "batch" | "user_data" | "vision" {
  if (/\.jsonl$/i.test(name)) return "batch";
  return /\.(png|jpe?g|webp|gif)$/i.test(name) ? "vision" : "user_data";
}
