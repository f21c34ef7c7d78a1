import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { createServer, type Server as HTTPServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { freePort } from "./penstock";
import { serve } from "./serve";
import { keepCookie } from "./server";

/** A server in which one person has one role, and the session of that person. */
export interface RoleServer {
  url: string;
  /** The storage state of a browser context with the session. */
  state: string;
  stop: () => Promise<void>;
}

/** Starts a server with one person, who has a role in the tenant search, or for all tenants; and signs that person in. */
export async function withRole(
  role: string,
  tenant?: "search",
  settings: object = {},
  env: Record<string, string> = {},
): Promise<RoleServer> {
  const email = `${role}@example.com`;
  const issuer = await startIssuer(email);
  const url = `http://127.0.0.1:${await freePort()}`;
  const sign_in = {
    operator_key: "allow",
    issuers: { corp: { url: issuer.url, client_id: "penstock" } },
    members: [{ email, role, ...(tenant ? { tenant } : {}) }],
  };
  const process = await serve(url, { ...settings, sign_in }, env);
  const state = join(process.data, "session.json");
  await signIn(url, state);
  return {
    url,
    state,
    stop: async () => {
      await process.stop();
      issuer.close();
    },
  };
}

/** The redirects of a sign-in, without a browser: the person agrees at once. */
async function signIn(url: string, state: string): Promise<void> {
  const begin = await fetch(`${url}/auth/login?issuer=corp&return_to=/`, { redirect: "manual" });
  const asked = new URL(begin.headers.get("location") ?? "").searchParams;
  const code = Buffer.from(asked.get("nonce") ?? "").toString("base64url"); // the token endpoint reads the nonce from it
  const back = `${url}/auth/callback?${new URLSearchParams({ code, state: asked.get("state") ?? "" })}`;
  const cookie = begin.headers.getSetCookie().map((c) => c.split(";")[0]);
  const end = await fetch(back, { redirect: "manual", headers: { cookie: cookie.join("; ") } });
  const session = end.headers.getSetCookie().find((c) => c.includes("session="));
  if (!session) throw new Error(`the sign-in ended with ${end.status} ${end.headers.get("location")}: ${await end.text()}`);
  keepCookie(url, session, state);
}

/** An OpenID Connect provider that has only what the server asks of it: its description, its key and tokens. */
async function startIssuer(email: string): Promise<{ url: string; close: () => void }> {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const key = publicKey.export({ format: "jwk" });
  const kid = createHash("sha256").update(String(key.x)).digest("base64url");
  let url = "";
  const token = (nonce: string) => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: url, aud: "penstock", sub: email, email, email_verified: true, name: email, nonce, iat: now, exp: now + 600 };
    const parts = [{ alg: "ES256", kid }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    return `${parts}.${sign("sha256", Buffer.from(parts), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
  };
  const answer = (path: string, body: string): unknown => {
    if (path === "/keys") return { keys: [{ ...key, kid, alg: "ES256", use: "sig" }] };
    if (path === "/token") {
      const nonce = Buffer.from(new URLSearchParams(body).get("code") ?? "", "base64url").toString();
      return { token_type: "Bearer", access_token: "none", id_token: token(nonce) };
    }
    return {
      issuer: url,
      authorization_endpoint: `${url}/authorize`,
      token_endpoint: `${url}/token`,
      jwks_uri: `${url}/keys`,
      id_token_signing_alg_values_supported: ["ES256"],
    };
  };
  const server: HTTPServer = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => {
      body += piece;
    });
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(answer(request.url ?? "", body)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, close: () => server.close() };
}
