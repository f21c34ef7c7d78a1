import { useState } from "react";
import { createStore, useStore } from "@/hooks/store";
import { later } from "./later";

export interface Notice {
  title: string;
  description?: string;
  undo?: () => void;
}

/** Notices that do not show yet. */
export const notices = createStore<readonly Notice[]>([]);

/** Says that an action is done. Errors do not go here: they stay beside their cause. */
export function toast(title: string, options: Omit<Notice, "title"> = {}): void {
  notices.set((old) => [...old, { title, ...options }]);
}

const Toaster = later(() => import("./Toaster").then((m) => m.Toaster));

/** The place of all notices. Its script is loaded with the first one. */
export function ToastViewport() {
  const raised = useStore(notices);
  const [used, setUsed] = useState(false);
  if (raised.length > 0 && !used) setUsed(true);
  return used && <Toaster />;
}
