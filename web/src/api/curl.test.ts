import { expect, test } from "vitest";
import { curlOf, shellWord } from "./curl";

test("words are quoted for the shell", () => {
  expect(shellWord("/v1/jobs")).toBe("/v1/jobs");
  expect(shellWord("it's $HOME")).toBe("'it'\\''s $HOME'");
  expect(shellWord("")).toBe("''");
});

test("a call as curl", () => {
  const command = curlOf(
    { method: "POST", path: "/v1/jobs/job_1/retry", query: { dry_run: "true", after: undefined }, body: { note: "it's late" } },
    "https://p",
  );
  expect(command).toBe(
    [
      "curl -X POST 'https://p/v1/jobs/job_1/retry?dry_run=true' \\",
      '  -H "Authorization: Bearer $PENSTOCK_KEY" \\',
      "  -H 'Content-Type: application/json' \\",
      `  -d '{"note":"it'\\''s late"}'`,
    ].join("\n"),
  );
});
