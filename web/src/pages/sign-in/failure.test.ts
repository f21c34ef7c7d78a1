import { expect, test } from "vitest";
import { failureOf } from "./failure";

test("a failed sign-in shows only known texts", () => {
  expect(failureOf("scope_missing", "req_01KXB3M9SGQ0VJ8ZC3X1N5T7RE")).toMatch(
    /^You have no role here\..* Request req_01KXB3M9SGQ0VJ8ZC3X1N5T7RE\.$/,
  );
  expect(failureOf("Call 555-0100 to unlock your account", "req_call 555")).toBe("The sign-in failed. Sign in again.");
  expect(failureOf("constructor", undefined)).toBe("The sign-in failed. Sign in again.");
});
