import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import { useEffect } from "react";
import { useStore } from "@/hooks/store";
import { notices } from "./Toast";

/** Shows the notices that `toast` raises, three at the most, for some seconds. */
export function Toaster() {
  return (
    <Toast.Provider limit={3}>
      <Toast.Portal>
        <Toast.Viewport className="fixed right-4 bottom-4 z-60 flex w-[min(22rem,calc(100vw-2rem))] flex-col gap-2">
          <Toasts />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function Toasts() {
  const { toasts, add, close } = Toast.useToastManager();
  const raised = useStore(notices);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new notice runs the effect, which takes all of them.
  useEffect(() => {
    const all = notices.get();
    if (all.length === 0) return;
    notices.set([]);
    for (const { title, description, undo } of all) {
      const undone = () => {
        close(id);
        undo?.();
      };
      const id = add({
        title,
        ...(description ? { description } : {}),
        timeout: undo ? 10_000 : 6_000,
        ...(undo ? { actionProps: { children: "Undo", onClick: undone } } : {}),
      });
    }
  }, [raised, add, close]);
  return toasts.map((t) => (
    <Toast.Root key={t.id} toast={t} className="popup rounded-card border border-line bg-raised shadow-float">
      <Toast.Content className="flex items-center gap-3 py-2.5 pr-2 pl-4">
        <div className="min-w-0 flex-1">
          <Toast.Title className="text-13 font-medium" />
          <Toast.Description className="text-12 text-ink-2" />
        </div>
        <Toast.Action className="h-[26px] rounded-control px-2 text-13 font-medium text-accent hover:bg-hover" />
        <Toast.Close
          aria-label="Dismiss"
          className="inline-flex size-[26px] items-center justify-center rounded-control text-ink-3 hover:bg-hover"
        >
          <X aria-hidden className="size-4" strokeWidth={1.75} />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ));
}
