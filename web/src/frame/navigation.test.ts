import { expect, test } from "vitest";
import type { Role } from "@/session";
import { hrefOf, type NavPage, navPages, sameIn, visiblePages } from "./navigation";

const icon = navPages[0]?.icon as never;

test("addresses of pages", () => {
  const jobs = { id: "jobs", title: "Jobs", section: "work", icon, path: "jobs" } as const;
  const queues = { ...jobs, path: "queues", allPath: "queues" } as const;
  const audit = { id: "audit", title: "Audit", section: "govern", icon, allPath: "audit" } as const;
  expect(hrefOf(jobs, "a/b", "x")).toBe("/t/a%2Fb/jobs");
  expect(hrefOf(jobs, null, "x")).toBe("/t/x/jobs");
  expect(hrefOf(queues, null, "x")).toBe("/all/queues");
  expect(hrefOf(queues, "a", "x")).toBe("/t/a/queues");
  expect(hrefOf(audit, "a", "x")).toBe("/all/audit");
});

test("another tenant opens on the same page, without the ids of this one", () => {
  expect(sameIn("b", "/t/a/jobs/job_1", "a")).toBe("/t/b/jobs");
  expect(sameIn("b", "/t/a", "a")).toBe("/t/b");
  expect(sameIn("b", "/t/a/nothing", "a")).toBe("/t/b");
  expect(sameIn(null, "/t/a/jobs", "a")).toBe("/all");
  expect(sameIn("x y", "/all", null)).toBe("/t/x%20y");
});

test("pages show only where the binary serves them and the role may see them", () => {
  const page = { id: "p", title: "P", section: "work", icon, path: "p" } as const;
  const pages: NavPage[] = [page, { ...page, id: "f", feature: "predict" }, { ...page, id: "r", roles: ["auditor"] }];
  const ids = (features: string[], roles: Role[]) => visiblePages(pages, features, new Set(roles)).map((p) => p.id);
  expect(ids([], ["viewer"])).toEqual(["p"]);
  expect(ids(["predict"], ["auditor"])).toEqual(["p", "f", "r"]);
  expect(ids([], ["admin"])).toEqual(["p", "r"]);
  const wide: NavPage[] = [{ ...page, roles: ["auditor"], everywhere: true }];
  expect(visiblePages(wide, [], new Set<Role>(["admin"]), new Set<Role>(["viewer"]))).toEqual([]);
  expect(visiblePages(wide, [], new Set<Role>(["viewer"]), new Set<Role>(["auditor"]))).toEqual(wide);
});

test("every page has its own id and key", () => {
  const keys = navPages.flatMap((p) => p.key ?? []);
  expect(new Set(keys).size).toBe(keys.length);
  expect(new Set(navPages.map((p) => p.id)).size).toBe(navPages.length);
});
