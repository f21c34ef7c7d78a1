import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import type { Page } from "@playwright/test";
import { freePort, type Started } from "./penstock";
import { adminKey, serve } from "./serve";
import { allowHosts, expect, test } from "./test";

const clientSecret = "a-secret-of-the-tests";
let url = "";
let issuers: number[] = [];
let server: Started;
let provider: ChildProcess;

test.use({ anonymous: true });
test.describe.configure({ mode: "serial" }); // one server and one provider process

test.beforeAll(async () => {
  url = `http://127.0.0.1:${await freePort()}`;
  issuers = [await freePort(), await freePort()];
  provider = await startIssuers();
  server = await serve(url, { sign_in: { issuers: corpAndPartner() } }, { OIDC_CLIENT_SECRET: clientSecret });
  allowHosts(new URL(url).host, ...issuers.map((port) => `127.0.0.1:${port}`), "fonts.googleapis.com"); // the pages of the provider name the last
});

test.beforeEach(({ context }) => context.route("https://fonts.googleapis.com/**", (route) => route.abort()));

test.afterAll(async () => {
  allowHosts();
  provider?.kill();
  await server?.stop();
});

function startIssuers(): Promise<ChildProcess> {
  const args = [join(import.meta.dirname, "issuer.mjs"), `${url}/auth/callback`, `${url}/sign-in`, ...issuers.map(String)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "ignore"] });
  return new Promise((resolve, reject) => {
    let text = "";
    child.once("exit", (code) => reject(new Error(`the issuers ended with ${code}: ${text}`)));
    child.stdout.on("data", (piece: Buffer) => {
      text += piece.toString();
      if (issuers.every((port) => text.includes(`issuer at ${port}`))) resolve(child);
    });
  });
}

function corpAndPartner() {
  const issuer = (port: number | undefined, more: object) => ({
    url: `http://127.0.0.1:${port}`,
    client_id: "penstock",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the server reads the variable.
    client_secret: "${OIDC_CLIENT_SECRET}",
    ...more,
  });
  const corp = [
    { group: "platform", role: "admin" },
    { group: "search-team", role: "viewer", tenant: "search" },
  ];
  return {
    corp: issuer(issuers[0], { title: "Corporate account", groups: corp }),
    partner: issuer(issuers[1], { title: "Partner account", groups: [{ group: "search-team", role: "developer", tenant: "search" }] }),
  };
}

/** Signs in on the pages of the provider, as a person would. */
async function signIn(page: Page, account: string, issuer = "Corporate account", at = "/"): Promise<void> {
  await page.goto(`${url}${at}`);
  await page.getByRole("button", { name: `Continue with ${issuer}` }).click();
  await page.getByPlaceholder("Enter any login").fill(account);
  await page.getByPlaceholder("and password").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue" }).click();
}

test("a person signs in at the provider, returns to the page, has the roles of the groups, and signs out there too", async ({
  page,
  context,
}) => {
  await context.addCookies([{ name: "penstock_session", value: "pss_chosen_by_an_attacker", url }]);
  await signIn(page, "grace", "Corporate account", "/t/search/jobs?status=failed");
  await expect(page).toHaveURL(`${url}/t/search/jobs?status=failed`);
  const cookies = await context.cookies(url);
  const session = cookies.find((c) => c.name === "penstock_session");
  expect(session).toMatchObject({ httpOnly: true, sameSite: "Lax", path: "/", secure: false });
  expect(session?.value).not.toBe("pss_chosen_by_an_attacker");
  expect(cookies.map((c) => c.name)).not.toContain("penstock_sign_in");

  const me = (await (await page.request.get(`${url}/v1/me`)).json()) as { name: string; all_tenants_roles: string[]; tenants: unknown[] };
  expect(me).toMatchObject({ name: "Grace Hopper", all_tenants_roles: [], tenants: [{ id: "search", roles: ["viewer"] }] });

  // The role is checked on the page and by the API.
  await page.goto(`${url}/t/secret/jobs`);
  await expect(
    page
      .getByText(/no access|not found|no tenant|forbidden/i)
      .filter({ visible: true })
      .first(),
  ).toBeVisible();
  for (const [path, tenant] of [
    ["/v1/jobs", "secret"],
    ["/v1/jobs", "nowhere"],
    ["/admin/v1/tenants", ""],
  ] as const) {
    const answer = await page.request.get(`${url}${path}`, { headers: tenant ? { "x-penstock-tenant": tenant } : {} });
    expect([403, 404], `${path} in ${tenant}`).toContain(answer.status());
  }

  await page.goto(`${url}/t/search/jobs`);
  await page.getByRole("button", { name: /^Account of Grace/ }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByRole("button", { name: /^Yes/ }).click(); // the provider asks whether its session ends too
  await expect(page).toHaveURL(new RegExp(`^${url}/sign-in`));
  expect((await page.request.get(`${url}/v1/me`)).status()).toBe(401);
  await page.getByRole("button", { name: "Continue with Corporate account" }).click();
  await expect(page.getByPlaceholder("Enter any login")).toBeVisible(); // and not signed in again at once
});

test("another issuer gives other roles to the same address; a person without a role is told so", async ({ page, browser }) => {
  await signIn(page, "grace", "Partner account");
  await expect(page).toHaveURL(new RegExp(`^${url}/t/search`));
  const me = (await (await page.request.get(`${url}/v1/me`)).json()) as { tenants: unknown[] };
  expect(me.tenants).toMatchObject([{ id: "search", roles: ["developer"] }]);

  const other = await browser.newPage();
  await signIn(other, "mallory");
  await expect(other.getByRole("alert")).toContainText("You have no role here");
  expect((await other.context().cookies(url)).filter((c) => c.name.includes("penstock"))).toEqual([]);
  await other.close();
});

test("keys do not sign in beside issuers, the provider demands PKCE, and foreign addresses are refused", async ({ page, request }) => {
  await page.goto(`${url}/sign-in`);
  await expect(page.getByRole("button", { name: "Continue with Partner account" })).toBeVisible();
  await expect(page.getByLabel("Operator key")).toHaveCount(0);
  const byKey = await request.post(`${url}/auth/key`, { headers: { origin: url }, data: { key: adminKey } });
  expect(byKey.status()).toBe(403);

  const login = await request.get(`${url}/auth/login?issuer=corp`, { maxRedirects: 0 });
  const at = new URL(login.headers().location ?? "");
  expect(at.searchParams.get("code_challenge_method")).toBe("S256");
  at.searchParams.delete("code_challenge");
  at.searchParams.delete("code_challenge_method");
  const without = await request.get(at.toString(), { maxRedirects: 0 });
  expect(without.headers().location).toContain("error=invalid_request");

  const foreign = [
    "//evil.example",
    "/\\evil.example",
    "https://evil.example",
    "/%2F%2Fevil.example",
    "/%5Cevil.example",
    "javascript:alert(1)",
  ];
  for (const evil of foreign) {
    const answer = await request.get(`${url}/auth/login?${new URLSearchParams({ issuer: "corp", return_to: evil })}`, { maxRedirects: 0 });
    expect(answer.status(), evil).toBe(400);
  }
});

test("a revoked session ends within a second, also on an open page", async ({ page, browser }) => {
  await signIn(page, "grace", "Partner account", "/t/search/jobs");
  await expect(page.getByRole("button", { name: /^Account of Grace/ })).toBeVisible();
  await expect(page.getByRole("button", { name: /Live/ })).toBeVisible();
  const admin = await browser.newPage();
  await signIn(admin, "ada");
  await expect(admin.getByRole("button", { name: /^Account of Ada/ })).toBeVisible();

  const cookie = (await page.context().cookies(url)).find((c) => c.name === "penstock_session")?.value;
  const session = (await (await page.request.get(`${url}/v1/me`)).json()) as { session: { id: string } };
  const { csrf } = (await (await admin.request.get(`${url}/v1/me`)).json()) as { csrf: string };
  const revoke = await admin.request.delete(`${url}/admin/v1/sessions/${session.session.id}`, {
    headers: { origin: url, "x-penstock-csrf": csrf },
  });
  expect(revoke.ok(), await revoke.text()).toBe(true);
  const revoked = Date.now();
  const call = () => fetch(`${url}/v1/me`, { headers: { cookie: `penstock_session=${cookie}` } }).then((r) => r.status);
  while ((await call()) !== 401) expect(Date.now() - revoked, "milliseconds after the revocation").toBeLessThan(1000);
  await expect(page).toHaveURL(/\/sign-in/);
  await admin.close();
});

test("an admin grants a role on the page; the viewer finds the pages of admins closed, and the API too", async ({ page, browser }) => {
  await signIn(page, "ada", "Corporate account", "/all/members");
  await page.getByRole("button", { name: "Grant role…" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Grant a role" });
  await dialog.getByLabel("E-mail").fill("mallory@example.com");
  await dialog.getByRole("combobox", { name: "Tenant" }).selectOption("search");
  await dialog.getByRole("button", { name: "Grant role" }).click();
  await expect(page.getByRole("row", { name: /mallory@example.com/ })).toContainText("viewer");

  const viewer = await browser.newPage();
  await viewer.route("https://fonts.googleapis.com/**", (route) => route.abort());
  await signIn(viewer, "mallory");
  await expect(viewer).toHaveURL(new RegExp(`^${url}/t/search`));
  await expect(viewer.getByRole("link", { name: "Settings" })).toBeVisible();
  for (const closed of ["Tenants & keys", "Members & sessions", "Audit"]) {
    await expect(viewer.getByRole("link", { name: closed })).toHaveCount(0);
  }
  for (const path of ["/all/tenants", "/all/members", "/t/search/keys", "/t/search/audit"]) {
    await viewer.goto(url + path);
    await expect(viewer.getByText("You may not see this").first()).toBeVisible();
  }
  for (const path of ["/admin/v1/tenants", "/admin/v1/keys", "/admin/v1/sessions", "/admin/v1/audit?tenant=search", "/admin/v1/config"]) {
    expect((await viewer.request.get(url + path)).status(), path).toBe(403);
  }
  await viewer.close();
});
