import { useMutation } from "@tanstack/react-query";
import { api, dataOf } from "@/api";

/**
 * Downloads a file by a link of one minute: a browser sends no header with a download, and so could not name the tenant. The server sends
 * the content as an attachment, so the page stays.
 */
export function useDownload(tenant: string, id: string) {
  return useMutation({
    mutationFn: () => dataOf(api(tenant).POST("/v1/files/{id}/url", { params: { path: { id } }, body: { expires_in: "1m" } })),
    onSuccess: (link) => window.location.assign(link.url),
  });
}
