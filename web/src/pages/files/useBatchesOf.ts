import { useQuery } from "@tanstack/react-query";
import { read } from "@/api";
import { downloadable, type File } from "./file";

interface Batch {
  id: string;
  status: string;
  input_file_id?: string | null;
  output_file_id?: string | null;
  error_file_id?: string | null;
}

/** The batches that read or wrote a file, among the newest 100: the API has no list by file. */
export function useBatchesOf(tenant: string, file: File) {
  const found = useQuery({
    ...read(tenant, "/v1/batches", { params: { query: { limit: 100 } } }),
    enabled: downloadable(file),
  });
  const page = found.data as unknown as { data: Batch[]; has_more: boolean } | undefined;
  const batches = page?.data.filter((b) => [b.input_file_id, b.output_file_id, b.error_file_id].includes(file.id)) ?? [];
  return { batches, partial: Boolean(page?.has_more), pending: found.isLoading };
}
