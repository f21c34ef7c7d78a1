import { createHmac } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "./test";

/** A receiver that accepts messages and keeps them. */
async function receiver() {
  const got: { id: string; signed: boolean }[] = [];
  let secret = "";
  const http = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const id = String(request.headers["webhook-id"]);
      const key = Buffer.from(secret.slice("whsec_".length), "base64");
      const text = `${id}.${request.headers["webhook-timestamp"]}.${Buffer.concat(pieces)}`;
      const mac = `v1,${createHmac("sha256", key).update(text).digest("base64")}`;
      got.push({ id, signed: String(request.headers["webhook-signature"]).split(" ").includes(mac) });
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/hook`,
    got,
    knows: (text: string) => {
      secret = text;
    },
    close: () => new Promise((resolve) => http.close(resolve)),
  };
}

test("an endpoint is made, tested, redelivered to, and changed under another's change", async ({ page }) => {
  const hook = await receiver();
  await page.goto("/t/demo/webhooks");
  await page.getByRole("button", { name: "Add endpoint…" }).first().click();
  await page.getByLabel("URL", { exact: true }).fill(hook.url);
  await page.getByLabel("Description").fill("Orders <b>here</b>");
  await page.getByRole("button", { name: "Add endpoint", exact: true }).click();
  const secret = await page.getByText(/^whsec_/).textContent();
  hook.knows(secret ?? "");
  const shown = page.getByRole("dialog", { name: "The secret that signs messages" });
  await expect(shown.getByRole("button", { name: "Close", exact: true }).last()).toBeDisabled();
  await shown.getByRole("checkbox").click();
  await shown.getByRole("button", { name: "Close", exact: true }).last().click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Orders <b>here</b>");

  await page.getByRole("button", { name: "Send test" }).click();
  const pane = page.getByRole("complementary", { name: "Delivery" });
  await expect(pane).toContainText("Delivered");
  await expect(pane.getByText("204")).toHaveCount(1);
  await pane.getByRole("button", { name: "Redeliver" }).click();
  await expect(pane.getByText("204")).toHaveCount(2);
  expect(hook.got.map((m) => m.signed)).toEqual([true, true]);
  expect(new Set(hook.got.map((m) => m.id)).size).toBe(1);

  // Another person changes it while the form is open.
  await page.getByRole("button", { name: "Edit…" }).click();
  await page.evaluate(async (id) => {
    const me = (await (await fetch("/v1/me")).json()) as { csrf: string };
    const headers = { "content-type": "application/json", "x-penstock-csrf": me.csrf, "x-penstock-tenant": "demo" };
    await fetch(`/v1/webhooks/${id}`, { method: "PATCH", headers, body: JSON.stringify({ description: "Theirs" }) });
  }, new URL(page.url()).pathname.split("/").at(-1));
  await page.getByLabel("Description").fill("Mine");
  await page.getByRole("button", { name: "Save changes" }).click();
  await expect(page.getByRole("alert")).toContainText("changed meanwhile");
  await page.getByRole("button", { name: "Reload" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Theirs");

  await page.getByRole("button", { name: "More actions" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByLabel(/^Type delete/).fill("delete");
  await page.getByRole("button", { name: "Delete endpoint" }).click();
  await expect(page.getByText("No endpoints yet")).toBeVisible();
  await hook.close();
});
