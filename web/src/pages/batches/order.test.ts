import { expect, test } from "vitest";
import { bodyOf, type Choice, windowMs } from "./order";

const choice: Choice = { file: "file_1", endpoint: "/v1/chat/completions", lane: "bulk", window: "2d", name: " Autumn " };

test("windows", () => {
  expect([windowMs("90m"), windowMs("24h"), windowMs("30d")]).toEqual([5_400_000, 86_400_000, 2_592_000_000]);
  expect([windowMs(""), windowMs("0m"), windowMs("31d"), windowMs("1w"), windowMs("h")]).toEqual([null, null, null, null, null]);
});

test("bulk is an OpenAI batch, other lanes are a job over the file", () => {
  expect(bodyOf(choice)).toEqual({
    method: "POST",
    path: "/v1/batches",
    body: { input_file_id: "file_1", endpoint: "/v1/chat/completions", completion_window: "48h", metadata: { name: "Autumn" } },
  });
  expect(bodyOf({ ...choice, lane: "standard" }, 0)).toEqual({
    method: "POST",
    path: "/v1/jobs",
    body: { input_file: "file_1", endpoint: "/v1/chat/completions", lane: "standard", deadline: "1970-01-03T00:00:00.000Z" },
  });
});
