import { Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { IconButton } from "@/components/Button";
import { StateGlyph } from "@/components/StateGlyph";
import { ErrorPanel } from "@/components/States";
import { formatBytes, formatPercent, plural } from "@/format";
import type { UploadState } from "./useUploads";

const glyphs = { waiting: "queued", sending: "running", done: "succeeded", failed: "failed", stopped: "cancelled" } as const;

/** One upload: the name, the progress, and the file or the error at its end. */
export function UploadRow({ upload: u, tenant, onStop }: { upload: UploadState; tenant: string; onStop: () => void }) {
  const share = u.file.size === 0 ? 1 : Math.min(1, u.sent / u.file.size);
  const running = u.state === "waiting" || u.state === "sending";
  return (
    <li className="flex flex-col gap-1">
      <div className="flex min-h-7 items-center gap-2">
        <StateGlyph state={glyphs[u.state]} />
        <span className="min-w-0 flex-1 truncate font-medium">{u.file.name}</span>
        <span className="num text-12 text-ink-2">{wordsOf(u, share)}</span>
        {running && <IconButton small icon={X} label={`Stop ${u.file.name}`} onClick={onStop} />}
        {u.stored && (
          <Link to="/t/$tenant/files/$id" params={{ tenant, id: u.stored.id }} className="text-accent hover:underline">
            Show
          </Link>
        )}
      </div>
      {u.state === "sending" && (
        <div
          role="progressbar"
          aria-label={`Upload of ${u.file.name}`}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(share * 100)}
          className="h-1.5 overflow-hidden rounded-full bg-hover"
        >
          <div className="h-full bg-water-solid" style={{ width: `${share * 100}%` }} />
        </div>
      )}
      {u.stored && u.stored.error_count > 0 && (
        <p className="text-12 text-red">{plural(u.stored.error_count, "invalid line")}: a batch over this file is refused.</p>
      )}
      {u.error && <ErrorPanel error={u.error} />}
    </li>
  );
}

function wordsOf(u: UploadState, share: number): string {
  const words = {
    waiting: "Waits",
    sending: share >= 1 ? "Server checks the file" : `${formatBytes(u.sent)} of ${formatBytes(u.file.size)}, ${formatPercent(share)}`,
    done: "Uploaded",
    failed: "Failed",
    stopped: "Stopped",
  };
  return words[u.state];
}
