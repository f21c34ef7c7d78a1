import { expect, test } from "vitest";
import { idIn, matchOf, pageOfFound, pageOfId } from "./palette";

test("ids lead to their page", () => {
  expect(pageOfId(" job_01M7MVA4408D6W3CKM2VTX ")?.path).toBe("jobs/job_01M7MVA4408D6W3CKM2VTX");
  expect(pageOfId("jobs")).toBeNull();
  expect(pageOfId("job_01/../../x")).toBeNull();
});

test("whole ids are looked for", () => {
  expect(idIn(" job_01M7MVA4408D6W3CKM2VTX0000 ")).toBe("job_01M7MVA4408D6W3CKM2VTX0000");
  expect(idIn("01M7EVQ77X85YNW2M0973SGEF3")).toBe("01M7EVQ77X85YNW2M0973SGEF3");
  expect(idIn("job_01M7")).toBeNull();
  expect(idIn("dead letters")).toBeNull();
  expect(idIn("job_01M7MVA4408D6W3CKM2VTX0000/../x")).toBeNull();
});

test("an object without a page of its own opens its job", () => {
  const found = { object: "part", id: "part_01M7MVA4408D6W3CKM2VTX0000", job_id: "job_01M7MVA4408D6W3CKM2VTX0000", path: null };
  expect(pageOfFound(found)?.path).toBe("jobs/job_01M7MVA4408D6W3CKM2VTX0000");
  expect(pageOfFound({ ...found, job_id: null })).toBeNull();
  expect(pageOfFound({ ...found, object: "webhook", id: "whk_01M7MVA4408D6W3CKM2VTX0000", job_id: null })?.path).toBe(
    "webhooks/whk_01M7MVA4408D6W3CKM2VTX0000",
  );
});

test("titles match by the starts of their words", () => {
  expect(matchOf("Queues & workers", "wor")).toBe(1);
  expect(matchOf("Queues & workers", "que wor")).toBe(1);
  expect(matchOf("Queues & workers", "orkers")).toBeNull();
  expect(matchOf("Jobs", "")).toBe(0);
});
