import { expect, test } from "vitest";
import { actorOf, changeWords, pageOfSubject, subjectWords, textOf } from "./entry";
import { csvOf, jsonlOf } from "./export";

const entry = {
  id: "01M7",
  tenant: "acme",
  actor: "Ada <ada@example.com> (session ses_01KXB3M9)",
  action: "key.revoke",
  subject: "key/key_1",
  before: { name: "app", limits: { a: 1 } },
  after: { limits: { a: 2 }, name: "app" },
  created_at: "2026-11-17T10:00:00Z",
};

test("actors are people with a session, or names", () => {
  expect(actorOf(entry.actor)).toEqual({ name: "Ada", email: "ada@example.com", session: "ses_01KXB3M9", filter: "Ada <ada@example.com>" });
  expect(actorOf("Operator with the admin key (session ses_1)")).toMatchObject({ name: "Operator with the admin key", email: null });
  expect(actorOf("SIGHUP")).toEqual({ name: "SIGHUP", email: null, session: null, filter: "SIGHUP" });
});

test("objects lead to their pages", () => {
  expect(pageOfSubject({ subject: "tenant/a b", tenant: "a b" })).toBe("/all/tenants/a%20b");
  expect(pageOfSubject(entry)).toBe("/all/tenants/acme?tab=keys&keys=all");
  expect(pageOfSubject({ subject: "job_01M74NJ1TY41", tenant: "acme" })).toBe("/t/acme/jobs/job_01M74NJ1TY41");
  expect(subjectWords("key/key_01M57AKZ1YDHA9X0B252G8EE1C")).toBe("key/key_…G8EE1C");
  expect(subjectWords("target/vllm-llama")).toBe("target/vllm-llama");
  expect(pageOfSubject({ subject: "lane/bulk", tenant: "-" })).toBeNull();
});

test("a change names the fields that differ", () => {
  expect(changeWords(entry)).toBe("limits");
  expect(changeWords({ before: null, after: {} })).toBe("new");
  expect(changeWords({ before: {}, after: null })).toBe("removed");
  expect(textOf({ b: 1, a: [2] })).toBe('{\n  "a": [\n    2\n  ],\n  "b": 1\n}');
});

test("exports are lines; CSV cells cannot be formulas", () => {
  expect(JSON.parse(jsonlOf([entry]))).toEqual(entry);
  const lines = csvOf([{ ...entry, actor: '=HYPERLINK("x")' }]).split("\r\n");
  expect(lines[0]).toBe("id,created_at,tenant,actor,action,subject,before,after");
  expect(lines[1]).toContain(`"'=HYPERLINK(""x"")"`);
});
