import type { Browser, BrowserContext, Page } from "@playwright/test";
import { server } from "./server";
import { expect, expectAccessible, test } from "./test";

/** Calls the API with a key. */
async function call(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
  const answer = await fetch(server().url + path, {
    method,
    headers: { authorization: `Bearer ${server().key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(answer.ok, `${method} ${path}: ${answer.status} ${await answer.clone().text()}`).toBe(true);
  return (await answer.json()) as Record<string, unknown>;
}

const chat = (...texts: string[]) => ({
  kind: "chat",
  messages: texts.map((content, i) => ({ role: i === 0 ? "system" : "user", content })),
});

async function draftOf(name: string): Promise<string[]> {
  const draft = await call("GET", `/v1/prompts/${name}/draft`);
  return (draft.messages as { content: string }[]).map((m) => m.content);
}

/** A browser of its own with the draft open. */
async function opened(browser: Browser, name: string): Promise<{ context: BrowserContext; page: Page }> {
  const context = await browser.newContext({ baseURL: server().url, storageState: server().state });
  const page = await context.newPage();
  await page.goto(`/t/demo/prompts/${name}?tab=draft`);
  await expect(page.getByLabel("Text of message 1")).toHaveAttribute("aria-multiline", "true");
  return { context, page };
}

test("two browsers edit one draft, one goes offline and comes back", async ({ browser }) => {
  const name = `e2e-${crypto.randomUUID().slice(0, 8)}/together`;
  await call("PUT", `/v1/prompts/${name}/draft`, chat("Be kind. 😀", "{{question}}"));
  const [ada, ben] = await Promise.all([opened(browser, name), opened(browser, name)]);
  const [left, right] = [ada.page.getByLabel("Text of message 1"), ben.page.getByLabel("Text of message 1")];

  // Both type, and see the cursor of the other with a name.
  await left.click();
  await left.press("Home");
  await left.pressSequentially("Always ");
  await expect(right).toContainText("Always Be kind. 😀");
  await expect(right.locator(".cm-person")).toHaveAttribute("data-name", "Operator with the admin key");
  await right.click();
  await right.press("End");
  await right.pressSequentially(" Thanks");
  await expect(left).toContainText("Always Be kind. 😀 Thanks");
  await expect(ada.page.getByRole("list", { name: "People who edit this draft" }).getByRole("listitem")).toHaveCount(1);

  // Ben goes on without a network; so does Ada, with one.
  await ben.context.setOffline(true);
  await expect(ben.page.getByText("Offline. You can go on; changes are saved later.")).toBeVisible();
  await right.pressSequentially(", and goodbye");
  await expect(ben.page.getByText("Offline. Your changes are kept here")).toBeVisible();
  await left.press("Home");
  await left.pressSequentially("You: ");
  await ben.context.setOffline(false);
  const both = "You: Always Be kind. 😀 Thanks, and goodbye";
  for (const text of [left, right]) await expect(text).toContainText(both);
  await expect(ben.page.getByRole("status").getByText("Draft saved", { exact: true })).toBeVisible();
  expect(await draftOf(name)).toEqual([both, "{{question}}"]);

  // Undo takes back what the person typed, not what the other did.
  for (let n = 0; n < 3; n++) await left.press("ControlOrMeta+z");
  await expect(right).toContainText("Be kind. 😀 Thanks, and goodbye");
  await expect(right).not.toContainText("Always");

  // A comment stays with its text.
  await right.press("Home");
  await right.press("Shift+ArrowRight");
  await right.press("Shift+ArrowRight");
  await ben.page.getByLabel("Comment on the selected text").fill("Is this an order?");
  await ben.page.getByRole("button", { name: "Add comment" }).click();
  await expect(ada.page.getByRole("article").getByText("Is this an order?")).toBeVisible();
  await left.press("Home");
  await left.pressSequentially(">> ");
  await expect(right.locator(".cm-comment-range")).toHaveText("Be");
  await expectAccessible(ada.page, "structure");

  // The command line replaces the draft as a whole: it comes in as edits. A message that somebody adds appears, with its text.
  await call("PUT", `/v1/prompts/${name}/draft`, chat(">> Be very kind. 😀 Thanks, and goodbye", "{{question}}"));
  await expect(left).toContainText("Be very kind.");
  await ada.page.getByRole("button", { name: "Add message" }).click();
  await ben.page.getByLabel("Text of message 3").fill("From Ben");
  await expect(ada.page.getByLabel("Text of message 3")).toContainText("From Ben");
  await ben.page.getByRole("button", { name: "Resolve comment" }).click();
  await expect(left.locator(".cm-comment-range")).toHaveCount(0);
  await Promise.all([ada.context.close(), ben.context.close()]);
});
