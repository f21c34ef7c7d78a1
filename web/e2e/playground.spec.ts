import type { Page } from "@playwright/test";
import { asPerson } from "./person";
import { withRole } from "./role";
import { adminKey } from "./serve";
import { keepSession, server } from "./server";
import { allowHosts, expect, expectAccessible, test } from "./test";

interface Run {
  id: string;
  state: string;
  cells: { column: number; row: number; state: string; output: { text: string }; marks: { rating: number; comment: string }[] }[];
}

const column = (page: Page, letter: string) => page.getByRole("region", { name: `Column ${letter}`, exact: true });
const output = (page: Page, letter: string) => page.getByRole("region", { name: `Output of column ${letter}` });
const stored = (page: Page) => asPerson<Run>("GET", `/v1/playground/runs/${new URL(page.url()).searchParams.get("run")}`);

/** Calls the simulator. */
async function sim(method: string, path: string, body?: object): Promise<void> {
  const answer = await fetch(server().sim + path, { method, ...(body ? { body: JSON.stringify(body) } : {}) });
  expect(answer.ok, await answer.text()).toBe(true);
}

test("four columns stream, one is stopped, and a reload in the middle finds the run complete", async ({ page }) => {
  const hold = (letter: string) => `playground-${letter}-${started}`; // a hold stays open once it is released
  const started = Date.now();
  await sim("PATCH", "/sim/config", { tokens_per_second: 50 });
  try {
    await page.goto("/t/demo/playground");
    await page.getByLabel("question", { exact: true }).fill("[sim:tokens=100] Where is my order?");
    for (let i = 0; i < 3; i++) await page.getByRole("button", { name: "Column", exact: true }).click();
    for (const letter of ["C", "D"]) {
      await page.getByRole("textbox", { name: `Text of message 2 of column ${letter}` }).fill(`{{question}} [sim:hold=${hold(letter)}]`);
    }
    await page.getByRole("button", { name: /^Settings of column B/ }).click();
    await page.getByLabel("Temperature").fill("0.9");
    await page.keyboard.press("Escape");
    await expect(column(page, "B").getByText("differs from column A")).toBeAttached();
    await expect(page.getByText(/At most \$\S+ for 4 calls/)).toBeVisible();

    await page.keyboard.press("Control+Enter");
    await Promise.all(["A", "B"].map((letter) => expect(column(page, letter).getByText("Streaming")).toBeVisible())); // it lasts 2 s
    await expect(page).toHaveURL(/run=prun_/);
    await page.reload();
    await expect(output(page, "A")).toContainText(/\w{4,} \w{4,}/);
    await expect(column(page, "D").getByText("Waiting", { exact: true })).toBeVisible();
    await column(page, "C").getByRole("button", { name: "Stop column C" }).click();
    await expect(column(page, "C").getByText("Stopped", { exact: true })).toBeVisible();
    await sim("POST", `/sim/release?name=${hold("D")}`);
    for (const letter of ["A", "B", "D"]) await expect(column(page, letter).getByText("Done", { exact: true })).toBeVisible();

    const run = await stored(page);
    expect(run.cells.map((c) => c.state)).toEqual(["succeeded", "succeeded", "stopped", "succeeded"]);
    for (const [letter, at] of [
      ["A", 0],
      ["D", 3],
    ] as const) {
      await expect(output(page, letter)).toContainText(run.cells[at]?.output.text ?? "no text");
    }
    expect(page.url()).not.toContain("order");
    await page.getByRole("radio", { name: "Differences from A" }).click();
    await expect(output(page, "D").locator("mark").first()).toBeVisible();
    await column(page, "A").getByRole("button", { name: "Good output of column A" }).click();
    await expect.poll(async () => (await stored(page)).cells[0]?.marks[0]?.rating).toBe(1);
    await expectAccessible(page);
  } finally {
    await sim("PATCH", "/sim/config", { tokens_per_second: 0 });
  }
});

test("rows of a file run; the column becomes a prompt version and code; the history finds, names and deletes the run", async ({ page }) => {
  await page.goto("/t/demo/playground");
  const file = 'question,extra\n"One, or two?",x\nshort\nThree?,x\n';
  await page.getByLabel("File with rows").setInputFiles({ name: "rows.csv", mimeType: "text/csv", buffer: Buffer.from(file) });
  const rows = page.getByRole("dialog", { name: "Rows of rows.csv" });
  await expect(rows.getByText("2 rows can be used, 1 line cannot.")).toBeVisible();
  await expect(rows.getByText("Line 3 The row has 1 fields, and the head has 2.")).toBeVisible();
  await rows.getByRole("button", { name: "Use 2 rows" }).click();
  await page.getByRole("radiogroup", { name: "Trials of each row" }).getByRole("radio", { name: "3" }).click();
  await page.getByRole("button", { name: /^Run/ }).click();
  await expect(column(page, "A").getByText("6/6")).toBeVisible();
  await page.getByRole("button", { name: "Next row" }).click();
  await expect(page.getByLabel("question", { exact: true })).toHaveValue("Three?");
  const text = (await stored(page)).cells.find((c) => c.row === 1)?.output.text ?? "no text";
  await expect(output(page, "A")).toContainText(text);

  await page.getByRole("button", { name: "Actions of column A" }).click();
  await page.getByRole("menuitem", { name: "Save as prompt version…" }).click();
  await page.getByLabel("Name", { exact: true }).fill("playground/answer");
  await page.getByRole("button", { name: "Save version" }).click();
  await expect(column(page, "A").getByRole("button", { name: /^Prompt of column A: playground\/answer\s*v1/ })).toBeVisible();
  await page.getByRole("button", { name: "Actions of column A" }).click();
  await page.getByRole("menuitem", { name: "Export as code…" }).click();
  await expect(page.getByRole("dialog", { name: "Export as code" }).getByText('"name": "playground/answer"')).toBeVisible();
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Rename run" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Three trials");
  await page.getByRole("button", { name: "Save name" }).click();
  await page.getByRole("button", { name: "History" }).click();
  const history = page.getByRole("complementary", { name: "History" });
  await history.getByLabel("Search runs").fill("three tri");
  await expect(history.getByRole("listitem")).toHaveCount(1);
  await history.getByRole("button", { name: "Actions of Three trials" }).click();
  await page.getByRole("menuitem", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete run" }).click();
  await expect(history.getByText("No run has this in its name")).toBeVisible();
  await expect(page).not.toHaveURL(/run=/);
  await expect(page.getByLabel("question", { exact: true })).toHaveValue("Three?"); // the setup stays
});

test("a viewer opens a shared run by its link, and nothing else of it", async ({ browser }) => {
  const viewer = await withRole("viewer", "search", { providers: { up: { kind: "openai", base_url: `${server().sim}/v1` } } });
  allowHosts(new URL(viewer.url).host);
  const author = { url: viewer.url, tenant: "search", state: await keepSession(viewer.url, adminKey) };
  const context = await browser.newContext({ baseURL: viewer.url, storageState: viewer.state });
  try {
    const content = { kind: "chat", messages: [{ role: "user", content: "{{question}}" }] };
    const setup = { columns: [{ content, model: "fast" }], rows: [{ question: "<b>Why?</b>" }] };
    const { id } = await asPerson<Run>("POST", "/v1/playground/runs", { name: "Shared tone", setup }, author);
    await expect.poll(async () => (await asPerson<Run>("GET", `/v1/playground/runs/${id}`, undefined, author)).state).toBe("completed");
    const share = (kind: object) => asPerson<{ url: string; id: string }>("POST", "/v1/playground/shares", { run_id: id, ...kind }, author);
    const live = await share({ kind: "role", role: "viewer" });
    const secret = await share({ kind: "role", role: "operator" });
    const text = (await asPerson<Run>("GET", `/v1/playground/runs/${id}`, undefined, author)).cells[0]?.output.text ?? "no text";

    const page = await context.newPage();
    await page.goto(live.url);
    await expect(page.getByRole("heading", { name: "Shared tone" })).toBeVisible();
    await expect(output(page, "A")).toContainText(text);
    await expect(page.getByLabel("question", { exact: true })).toHaveValue("<b>Why?</b>");
    await expect(page.getByRole("button", { name: /Run|Copy setup|Stop/ })).toHaveCount(0);
    await page.getByRole("button", { name: "Bad output of column A" }).click();
    await expect
      .poll(async () => (await asPerson<Run>("GET", `/v1/playground/runs/${id}`, undefined, author)).cells[0]?.marks[0]?.rating)
      .toBe(-1);
    await page.goto(secret.url);
    await expect(page.getByRole("alert").or(page.getByText("You may not see this"))).toBeVisible();
    await page.goto("/t/search/playground");
    await expect(page.getByText("You may not see this")).toBeVisible();
    await asPerson("DELETE", `/v1/playground/shares/${live.id}`, undefined, author);
    await page.goto(live.url);
    await expect(page.getByRole("alert")).toBeVisible();
  } finally {
    await context.close();
    allowHosts();
    await viewer.stop();
  }
});
