import { expect, test } from "vitest";
import type { Role } from "@/session";
import {
  driftOf,
  folderOf,
  type Label,
  labelProblem,
  labelsOf,
  leafOf,
  likelyLabel,
  type Move,
  nameProblem,
  type Protection,
  personWord,
  previousOf,
  protectionOf,
  sideIn,
  sideWord,
  stepsTo,
  versionIn,
  wayOf,
} from "./prompt";

test("names that no prompt can have", () => {
  for (const name of ["answer", "support/answer", "a/b/c.v2/d_e-f", "0"]) expect(nameProblem(name), name).toBeNull();
  for (const name of ["", "/a", "a/", "a//b", ".a", "a/../b", "a b", "é", "a/-b", "x".repeat(201), "1/2/3/4/5/6/7/8/9"]) {
    expect(nameProblem(name), name).not.toBeNull();
  }
  expect(nameProblem("support/versions")).toContain("versions");
});

test("labels that cannot exist", () => {
  for (const label of ["production", "v1", "canary.eu_1"]) expect(labelProblem(label), label).toBeNull();
  for (const label of ["", "latest", "12", "-x", "a b", "x".repeat(65)]) expect(labelProblem(label), label).not.toBeNull();
});

test("folders of names", () => {
  expect([leafOf("a/b/c"), leafOf("a/b/"), leafOf("c")]).toEqual(["c", "b", "c"]);
  expect([folderOf("a/b/c"), folderOf("c")]).toEqual(["a/b/", ""]);
  expect(stepsTo("a/b/")).toEqual([
    { title: "a", folder: "a/" },
    { title: "b", folder: "a/b/" },
  ]);
  expect(stepsTo("")).toEqual([]);
});

test("how far a label is behind", () => {
  expect(driftOf(4, 7)).toBe("3 behind");
  expect(driftOf(7, 7)).toBeNull();
  expect(driftOf(1, null)).toBeNull();
});

const label = (name: string, version: number) => ({ label: name, version }) as Label;

test("the labels of a version, and the likely one", () => {
  const labels = [label("latest", 7), label("production", 4), label("canary", 7)];
  expect(labelsOf({ labels }, 7).map((l) => l.label)).toEqual(["canary"]);
  expect(likelyLabel({ labels }, 7)).toBe("production");
  expect(likelyLabel({ labels }, 4)).toBe("canary");
  expect(likelyLabel({ labels: [label("latest", 1)] }, 1)).toBe("production");
});

const protection = (more: Partial<Protection>) =>
  ({ label: "production", prompts: [], roles: ["operator"], approval: false, ...more }) as Protection;

test("the protection of a label covers names and folders", () => {
  const all = [protection({ prompts: ["support/", "lib/tone"] })];
  expect(protectionOf(all, "production", "support/a/b")).toBe(all[0]);
  expect(protectionOf(all, "production", "lib/tone")).toBe(all[0]);
  expect(protectionOf(all, "production", "lib/tones")).toBeUndefined();
  expect(protectionOf(all, "canary", "support/a")).toBeUndefined();
  expect(protectionOf([protection({})], "production", "x")).toBeDefined();
});

test("how a person may move a label", () => {
  const having = (mine: Role[]) => (roles: readonly Role[]) => mine.includes("admin") || roles.some((r) => mine.includes(r));
  expect(wayOf(undefined, having(["viewer"]))).toBe("none");
  expect(wayOf(undefined, having(["developer"]))).toBe("move");
  expect(wayOf(protection({}), having(["developer"]))).toBe("request");
  expect(wayOf(protection({}), having(["operator"]))).toBe("move");
  expect(wayOf(protection({ approval: true }), having(["admin"]))).toBe("request");
});

test("the version that a label named before", () => {
  const moves = [
    { label: "canary", from: 1, to: 7 },
    { label: "production", from: 4, to: 7 },
    { label: "production", from: null, to: 4 },
  ] as Move[];
  expect(previousOf(moves, "production", 7)).toBe(4);
  expect(previousOf(moves, "production", 4)).toBeNull();
  expect(previousOf(moves, "beta", 1)).toBeNull();
});

test("names of authors", () => {
  expect([personWord("person:Operator"), personWord("ann@example.com"), personWord(null)]).toEqual(["Operator", "ann@example.com", ""]);
});

test("versions and sides in the URL", () => {
  expect(versionIn({ version: "12" }, "version")).toBe("12");
  for (const version of ["0", "-1", "1e9", "x", "12345678901"]) expect(versionIn({ version }, "version"), version).toBeUndefined();
  expect(sideIn({ from: "draft" }, "from")).toBe("draft");
  expect(sideIn({ from: "<b>" }, "from")).toBeUndefined();
  expect([sideWord("7"), sideWord("production")]).toEqual(["v7", "production"]);
});
