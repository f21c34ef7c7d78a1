import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, request, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, type Started } from "./penstock";
import { adminKey, serve } from "./serve";
import { allowHosts, expect, test } from "./test";

test.use({ anonymous: true });
const started: Started[] = [];
const proxies: Server[] = [];

test.afterAll(() => allowHosts());
test.afterEach(async () => {
  for (const p of proxies.splice(0)) {
    p.closeAllConnections();
    p.close();
  }
  await Promise.all(started.splice(0).map((s) => s.stop()));
});

/** A proxy that serves a server below a path, and nothing else. It cuts the path off, or keeps it. */
async function proxy(to: number, path: string, cut: boolean): Promise<string> {
  const port = await freePort();
  const server = createServer((incoming, answer) => {
    if (!incoming.url?.startsWith(`${path}/`)) {
      answer.writeHead(404).end("of another program");
      return;
    }
    const target = cut ? incoming.url.slice(path.length) : incoming.url;
    const outgoing = request({ port: to, host: "127.0.0.1", path: target, method: incoming.method, headers: incoming.headers }, (r) => {
      answer.writeHead(r.statusCode ?? 502, r.headers);
      r.pipe(answer);
    });
    outgoing.on("error", () => answer.destroy());
    answer.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  proxies.push(server);
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return `http://127.0.0.1:${port}${path}`;
}

for (const cut of [true, false]) {
  test(`below a base path, behind a proxy that ${cut ? "cuts the path off" : "keeps the path"}`, async ({ page }) => {
    const port = await freePort();
    started.push(await serve(`http://127.0.0.1:${port}`, { console: { base_path: "/llm/penstock" } }));
    const url = await proxy(port, "/llm/penstock", cut);
    allowHosts(new URL(url).host);
    const outside: string[] = [];
    page.on("request", (r) => {
      if (!r.url().startsWith(`${url}/`)) outside.push(r.url());
    });

    await page.goto(`${url}/t/search/jobs?status=failed`);
    await expect(page).toHaveURL(new RegExp(`^${url}/sign-in\\?return_to=`));
    await page.getByLabel("Operator key").fill(adminKey);
    await page.getByRole("button", { name: "Sign in with the key" }).click();
    await expect(page).toHaveURL(`${url}/t/search/jobs?status=failed`);
    await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
    await page.reload();
    await expect(page.getByRole("heading", { name: "Jobs" })).toBeVisible();
    await page.getByRole("link", { name: "Home" }).first().click();
    await expect(page).toHaveURL(`${url}/t/search`);
    await page.getByRole("button", { name: /^Account of/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await expect(page).toHaveURL(new RegExp(`^${url}/sign-in`));
    expect(outside).toEqual([]);
  });
}

test("over TLS the cookie is bound to the host, and no other site can frame the page or act for the person", async ({ browser }) => {
  const folder = mkdtempSync(join(tmpdir(), "penstock-tls-"));
  const [cert, key] = [join(folder, "tls.crt"), join(folder, "tls.key")];
  execFileSync(
    "openssl",
    [
      "req",
      "-x509",
      "-newkey",
      "ec",
      "-pkeyopt",
      "ec_paramgen_curve:P-256",
      "-nodes",
      "-days",
      "2",
      "-subj",
      "/CN=127.0.0.1",
      "-addext",
      "subjectAltName=IP:127.0.0.1",
      "-keyout",
      key,
      "-out",
      cert,
    ],
    { stdio: "ignore" },
  );
  const url = `https://127.0.0.1:${await freePort()}`;
  started.push(await serve(url, { tls: { cert_file: cert, key_file: key } }));
  rmSync(folder, { recursive: true });
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto(`${url}/sign-in`);
  await page.getByLabel("Operator key").fill(adminKey);
  await page.getByRole("button", { name: "Sign in with the key" }).click();
  await expect(page.getByRole("button", { name: /^Account of/ })).toBeVisible();
  const cookies = (await context.cookies(url)).filter((c) => c.name.includes("penstock"));
  expect(cookies).toMatchObject([{ name: "__Host-penstock_session", secure: true, httpOnly: true, sameSite: "Lax", path: "/" }]);
  expect(await page.evaluate(() => document.cookie)).toBe("");

  // A page of another site: another host name, since ports do not make a site.
  const evil = createServer((_, answer) => answer.writeHead(200, { "content-type": "text/html" }).end("<title>evil</title>"));
  proxies.push(evil);
  const port = await freePort();
  await new Promise<void>((resolve) => evil.listen(port, "127.0.0.1", resolve));
  const other = await context.newPage();
  await other.goto(`http://localhost:${port}/`);
  const framed = await other.evaluate(async (at) => {
    const frame = document.createElement("iframe");
    frame.src = at;
    document.body.append(frame);
    await new Promise((resolve) => frame.addEventListener("load", resolve));
    return frame.contentDocument === null; // an error page of the browser is of another origin too
  }, `${url}/t/search/jobs`);
  expect(framed).toBe(true);
  const inner = other.frames().find((f) => f !== other.mainFrame());
  await expect.poll(() => inner?.url()).toContain("chrome-error://");

  const forged = await other.evaluate(async (at) => {
    const body = JSON.stringify({ model: "fast", input: "forged" });
    const answers = ["no-cors", "cors"].map((mode) =>
      fetch(`${at}/v1/jobs`, {
        method: "POST",
        mode: mode as RequestMode,
        credentials: "include",
        headers: { "content-type": "text/plain" },
        body,
      }).then(
        (r) => r.type,
        () => "refused",
      ),
    );
    return Promise.all(answers);
  }, url);
  expect(forged).toEqual(["opaque", "refused"]);
  const jobs = await page.request.get(`${url}/v1/jobs`, { headers: { "x-penstock-tenant": "search" } });
  expect((await jobs.json()) as unknown).toMatchObject({ data: [] });
  await context.close();
});
