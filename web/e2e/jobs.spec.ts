import { server } from "./server";
import { expect, test } from "./test";

const hostile = '<img src=x onerror="alert(1)">';

interface Submitted {
  id: string;
}

/** Submits a job with the key of the tenant. */
async function submit(body: Record<string, unknown>, wait = false): Promise<string> {
  const s = server();
  const response = await fetch(`${s.url}/v1/jobs`, {
    method: "POST",
    headers: { authorization: `Bearer ${s.key}`, "content-type": "application/json", ...(wait ? { prefer: "wait=10" } : {}) },
    body: JSON.stringify({ model: "sim", ...body }),
  });
  const job = (await response.json()) as Submitted;
  expect(job.id, JSON.stringify(job)).toBeTruthy();
  return job.id;
}

test("the list filters by the URL, counts by state, peeks and shows hostile tags as text", async ({ page }) => {
  await page.goto("/t/demo/jobs");
  const rows = page.getByRole("row");
  await expect(rows.nth(1)).toBeVisible();
  await expect(page.getByRole("button", { name: /^Failed \d/ })).toBeVisible();
  await expect(page.getByRole("figure", { name: "Jobs over time" })).toBeVisible();
  const all = await rows.count();

  await page.keyboard.press("/");
  await page.keyboard.type("lane bulk");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/lane=bulk/);
  await expect.poll(() => rows.count()).toBeLessThan(all);
  await page.getByRole("button", { name: "Remove the filter Lane" }).click();
  await expect(page).not.toHaveURL(/lane=bulk/);
  await page.keyboard.press("Escape");

  await page.keyboard.press("j");
  await expect(page.locator("[role=row][aria-current=true]")).toHaveCount(1);
  await page.keyboard.press("Space");
  await expect(page.getByRole("complementary", { name: "Peek" }).getByText("Resolved at admission")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("complementary", { name: "Peek" })).toHaveCount(0);

  await page.goto("/t/demo/jobs?columns=tags");
  await expect(page.getByText(`note=${hostile}`)).toBeVisible();

  await page.goto("/t/demo/jobs?tag=env:nowhere");
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect(page).toHaveURL(/\/jobs$/);
});

test("a job is found by its id and by its error code", async ({ page }) => {
  const id = await submit({ input: "[sim:fault=bad_request] found" }, true);
  await page.goto("/t/demo/jobs");
  await page.getByRole("combobox", { name: "Filter" }).fill(id);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`id=${id}`));
  await expect(page.getByRole("row")).toHaveCount(2);
  await expect(page.getByRole("gridcell", { name: "upstream_rejected" })).toBeVisible();

  await page.goto("/t/demo/jobs?code=upstream_rejected&status=failed");
  await expect(page.getByRole("gridcell", { name: "upstream_rejected" }).first()).toBeVisible();
  await expect(page.getByRole("gridcell", { name: "Succeeded" })).toHaveCount(0);
});

test("a running job is cancelled after a confirmation with its counts", async ({ page }) => {
  const id = await submit({ inputs: ["[sim:hold=cancelled-a]", "[sim:hold=cancelled-b]"] });
  await page.goto(`/t/demo/jobs?id=${id}`);
  await expect(page.getByRole("gridcell", { name: /Running|Queued/ })).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.getByRole("button", { name: "Cancel jobs…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("2 items of 1 job");
  await dialog.getByRole("button", { name: "Cancel job", exact: true }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole("gridcell", { name: "Cancelled", exact: true })).toBeVisible({ timeout: 10_000 });
});

test("a failed job is retried in a new one", async ({ page }) => {
  const id = await submit({ input: "[sim:fault=bad_request] retried" }, true);
  await page.goto(`/t/demo/jobs/${id}`);
  await expect(page.getByText("upstream_rejected").first()).toBeVisible();
  await page.getByRole("button", { name: "Retry job…" }).click();
  await expect(page.getByRole("dialog")).toContainText("1 item in 1 new job, at most $"); // by the dry run of the server
  await page.getByRole("dialog").getByRole("button", { name: "Retry job" }).click();
  await expect(page).not.toHaveURL(new RegExp(id));
  await expect(page.getByText("Retry of")).toBeVisible();
});

test("a finished job is downloaded, and deleted after its id was typed", async ({ page }) => {
  const id = await submit({ input: "Short life" }, true);
  await page.goto(`/t/demo/jobs/${id}`);
  const download = page.waitForEvent("download");
  await page.getByRole("button", { name: "Download results" }).click();
  expect((await download).suggestedFilename()).toMatch(/\.jsonl$/);
  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("menuitem", { name: "Delete job…" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete the job?" });
  await expect(dialog).toContainText("This cannot be undone.");
  await expect(dialog.getByRole("button", { name: "Delete job" })).toBeDisabled();
  await dialog.getByRole("textbox").fill(id.slice(-6));
  await dialog.getByRole("button", { name: "Delete job" }).click();
  await expect(page).toHaveURL(/\/t\/demo\/jobs$/);
  await page.goto(`/t/demo/jobs/${id}`);
  await expect(page.getByRole("alert")).toContainText("not_found");
});

test("a view is kept in the browser, opened again and removed", async ({ page }) => {
  await page.goto("/t/demo/jobs?status=failed&code=upstream_rejected");
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "Save this view…" }).click();
  await page.getByRole("dialog").getByRole("textbox", { name: "Name" }).fill("<b>Refused</b>");
  await page.getByRole("button", { name: "Save view" }).click();
  await page.goto("/t/demo/jobs");
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByText("<b>Refused</b>").click();
  await expect(page).toHaveURL(/status=failed/);
  await expect(page).toHaveURL(/code=upstream_rejected/);
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "Remove the view <b>Refused</b>" }).click();
  await page.getByRole("button", { name: "Views" }).click();
  await expect(page.getByRole("menuitem", { name: "Save this view…" })).toBeVisible();
  await expect(page.getByText("<b>Refused</b>", { exact: true })).toHaveCount(0);
});

test("an act on more than 1,000 items needs their number typed", async ({ page }) => {
  test.setTimeout(120_000);
  const id = await submit({ lane: "bulk", inputs: Array.from({ length: 1001 }, () => "[sim:hold=many]") });
  await page.goto(`/t/demo/jobs/${id}`);
  await page.getByRole("button", { name: "Cancel job…" }).click();
  const dialog = page.getByRole("dialog", { name: "Cancel the job?" });
  await expect(dialog).toContainText(/1,001 items/);
  await expect(dialog.getByRole("button", { name: "Cancel job" })).toBeDisabled();
  await dialog.getByRole("textbox").fill("1001");
  await dialog.getByRole("button", { name: "Cancel job" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByText("Cancelled").first()).toBeVisible({ timeout: 30_000 });
});

test("the output of a job shows while it is written", async ({ page }) => {
  const id = await submit({ stream: true, input: "Write [sim:hold=streamed]" });
  await page.goto(`/t/demo/jobs/${id}`);
  await page.getByRole("button", { name: "Show the output" }).click();
  await expect(page.getByText("Waiting for the first token")).toBeVisible();
  await fetch(`${server().sim}/sim/release?name=streamed`, { method: "POST" });
  await expect(page.getByText("Waiting for the first token")).toHaveCount(0);
  await expect(page.getByRole("region", { name: "Output" })).not.toBeEmpty();
  await expect(page.getByText("Succeeded").first()).toBeVisible();
});

test("payloads stay hidden until they are revealed, and hostile text stays text", async ({ page }) => {
  const s = server();
  const body = { messages: [{ role: "user", content: `Say ${hostile}` }] };
  const id = await submit(
    {
      inputs: [
        { custom_id: hostile, body },
        { custom_id: "second", body },
      ],
      tags: { html: hostile },
    },
    true,
  );
  const revealed: string[] = [];
  page.on("request", (r) => /reveal=true|\/input$|\/events/.test(r.url()) && revealed.push(r.url()));
  await page.goto(`/t/demo/jobs/${id}`);
  await expect(page.getByRole("gridcell", { name: hostile })).toBeVisible();
  await page.getByRole("gridcell", { name: hostile }).click();
  await expect(page).toHaveURL(/item=item_/);
  expect(revealed).toEqual([]);
  await page.getByRole("button", { name: "Show the input" }).click();
  await expect(page.getByLabel("Input").getByText("onerror").first()).toBeVisible();
  expect(revealed).toHaveLength(1);

  const audit = await fetch(`${s.adminURL}/admin/v1/audit?tenant=demo&limit=20`, { headers: { authorization: `Bearer ${s.adminKey}` } });
  const item = new URL(page.url()).searchParams.get("item") ?? "";
  expect(await audit.text()).toContain(item);

  await page.goto(`/t/demo/items/${item}`);
  await expect(page).toHaveURL(new RegExp(`/jobs/${id}\\?item=${item}`));
});

test("a job is submitted after a dry run", async ({ page }) => {
  await page.goto("/t/demo/jobs");
  await expect(page.getByRole("row").nth(1)).toBeVisible();
  await page.keyboard.press("c");
  await page.getByLabel("Prompt").fill("Why is the sky blue?");
  await expect(page.getByRole("region", { name: "Dry run" })).toContainText("At most");
  await page.getByRole("dialog").getByRole("button", { name: "Submit job" }).click();
  await expect(page).toHaveURL(/\/jobs\/job_/);
  await expect(page.getByText("Resolved at admission")).toBeVisible();
});
