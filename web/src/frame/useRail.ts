import { useRouterState } from "@tanstack/react-router";
import { useCallback } from "react";
import { preferences, setPreference, usePreferences } from "@/hooks/preferences";
import { useTenant } from "@/routes";
import { pageAt } from "./navigation";

/** Whether the sidebar shows as icons here, and the change of it. Pages that need the width have a choice of their own. */
export function useRail(): { rail: boolean; toggle: () => void } {
  const tenant = useTenant();
  const path = useRouterState({ select: (s) => s.location.pathname });
  const name = pageAt(path, tenant)?.rail ? "wideRail" : "rail";
  const rail = usePreferences()[name];
  const toggle = useCallback(() => setPreference(name, !preferences.get()[name]), [name]);
  return { rail, toggle };
}
