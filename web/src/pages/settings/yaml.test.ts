import { expect, test } from "vitest";
import { partsOf } from "./yaml";

test("a configuration falls into its parts", () => {
  const parts = partsOf(
    "listen: 127.0.0.1:8080\nlog:\n  level: info\n  format: text\nunpriced: flag\ntargets:\n  a:\n    provider: x\n  b:\n    provider: y\n",
  );
  expect(parts).toEqual([
    { name: "general", text: "listen: 127.0.0.1:8080\nunpriced: flag", entries: 2 },
    { name: "log", text: "log:\n  level: info\n  format: text", entries: 2 },
    { name: "targets", text: "targets:\n  a:\n    provider: x\n  b:\n    provider: y", entries: 2 },
  ]);
  expect(partsOf("")).toEqual([]);
});
