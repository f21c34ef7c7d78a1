import { asApiError, download } from "@/api";
import { toast } from "@/components/Toast";
import type { RunSummary } from "../api";

/** Saves the rows of a run as a file: variables, rendered messages, settings, outputs, figures and marks of each cell. */
export async function exportRows(tenant: string, run: RunSummary): Promise<void> {
  try {
    await download(tenant, `/v1/playground/runs/${run.id}/export`, { format: "jsonl" }, `${run.name ?? run.id}.jsonl`);
  } catch (error) {
    toast("The rows were not exported", { description: asApiError(error).message });
  }
}
