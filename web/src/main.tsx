import "./styles/app.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { whenSignedOut } from "./api/client";
import { newQueryClient } from "./api/query";
import { ToastViewport } from "./components/Toast";
import { TooltipProvider } from "./components/Tooltip";
import { applyTheme } from "./hooks/preferences";
import { newRouter } from "./router";
import { meQuery } from "./session";

applyTheme();
const queries = newQueryClient();
const router = newRouter(queries);
whenSignedOut(() => {
  queries.removeQueries({ queryKey: meQuery.queryKey });
  void router.invalidate(); // the frame finds nobody signed in, and goes to /sign-in
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={queries}>
          <TooltipProvider delay={400}>
            <RouterProvider router={router} />
            <ToastViewport />
          </TooltipProvider>
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  );
}
