import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { verifySnippets } from "./verify";

test("the snippet for Node accepts a signed message and refuses another", async () => {
  const text = verifySnippets.find((s) => s.value === "node")?.text ?? "";
  const module = (await import(/* @vite-ignore */ `data:text/javascript,${encodeURIComponent(text)}`)) as {
    verify: (headers: Record<string, string>, body: Buffer, secret: string) => boolean;
  };
  const key = Buffer.from("a secret of the test");
  const secret = `whsec_${key.toString("base64")}`;
  const time = String(Math.floor(Date.now() / 1000));
  const body = Buffer.from('{"id":"evt_1"}');
  const mac = createHmac("sha256", key).update(`evt_1.${time}.${body}`).digest("base64");
  const headers = { "webhook-id": "evt_1", "webhook-timestamp": time, "webhook-signature": `v1,AAAA v1,${mac}` };
  expect(module.verify(headers, body, secret)).toBe(true);
  expect(module.verify(headers, Buffer.from("{}"), secret)).toBe(false);
  expect(module.verify({ ...headers, "webhook-timestamp": "1" }, body, secret)).toBe(false);
});
