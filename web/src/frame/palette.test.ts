import { expect, test } from "vitest";
import { matchOf, pageOfId } from "./palette";

test("ids lead to their page", () => {
  expect(pageOfId(" job_01M7MVA4408D6W3CKM2VTX ")?.path).toBe("jobs/job_01M7MVA4408D6W3CKM2VTX");
  expect(pageOfId("jobs")).toBeNull();
  expect(pageOfId("job_01/../../x")).toBeNull();
});

test("titles match by the starts of their words", () => {
  expect(matchOf("Queues & workers", "wor")).toBe(1);
  expect(matchOf("Queues & workers", "que wor")).toBe(1);
  expect(matchOf("Queues & workers", "orkers")).toBeNull();
  expect(matchOf("Jobs", "")).toBe(0);
});
