import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback } from "react";
import { signOut } from "@/session";

/** Signs the person out, here and where the identity provider asks for it. */
export function useLeave(): () => void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useCallback(() => {
    void signOut(queries).then((next) => (next ? window.location.assign(next) : navigate({ to: "/sign-in" })));
  }, [queries, navigate]);
}
