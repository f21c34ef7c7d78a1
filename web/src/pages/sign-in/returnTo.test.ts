import { expect, test } from "vitest";
import { safeReturn } from "./returnTo";

test.each([
  ["/t/support/jobs?status=failed", "/t/support/jobs?status=failed"],
  [undefined, "/"],
  ["", "/"],
  ["https://evil.example/", "/"],
  ["//evil.example/", "/"],
  ["/\\evil.example", "/"],
  ["/\t/evil.example", "/"],
  ["javascript:alert(1)", "/"],
  ["/sign-in?return_to=/sign-in", "/"],
])("%s leads to %s", (text, path) => expect(safeReturn(text)).toBe(path));
