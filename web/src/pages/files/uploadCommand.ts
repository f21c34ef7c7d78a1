import { serverURL } from "@/api";
import { shellWord } from "@/api/curl";

/** An upload is a form and not JSON, so its command is not one of curlOf. */
export function uploadCommand(purpose = "batch", name = "requests.jsonl"): string {
  return [
    `curl ${shellWord(`${serverURL()}/v1/files`)}`,
    `-H "Authorization: Bearer $PENSTOCK_KEY"`,
    `-F ${shellWord(`purpose=${purpose}`)}`,
    `-F ${shellWord(`file=@${name}`)}`,
  ].join(" \\\n  ");
}
