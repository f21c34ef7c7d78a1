// OpenID Connect providers for the tests, each at a port of loopback: node issuer.mjs CALLBACK POST_LOGOUT PORT…
// A person types any name as the login; the name decides about the claims, as in people below.
import { Provider } from "oidc-provider";

const [callback, afterLogout, ...ports] = process.argv.slice(2);
const people = {
  ada: { name: "Ada Lovelace", email: "ada@example.com", email_verified: true, groups: ["platform"] },
  grace: { name: "Grace Hopper", email: "grace@example.com", email_verified: true, groups: ["search-team"] },
  mallory: { name: "Mallory <img src=x onerror=alert(1)>", email: "mallory@example.com", email_verified: true, groups: ["visitors"] },
};

for (const port of ports) {
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [
      {
        client_id: "penstock",
        client_secret: "a-secret-of-the-tests",
        redirect_uris: [callback],
        post_logout_redirect_uris: [afterLogout],
      },
    ],
    pkce: { required: () => true },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name", "groups"] },
    conformIdTokenClaims: port !== ports[0], // the first puts claims into the token, others into userinfo
    findAccount: (_, id) => people[id] && { accountId: id, claims: () => ({ sub: id, ...people[id] }) },
    cookies: { keys: ["of the tests"] },
    ttl: { Session: 600, Interaction: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
  });
  provider.listen(Number(port), "127.0.0.1", () => process.stdout.write(`issuer at ${port}\n`));
}
