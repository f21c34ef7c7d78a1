import { penstock, type Started } from "./penstock";

/** The admin key of servers that `serve` starts. */
export const adminKey = "psk_admin_7gq2xk9dmw4ztfv8hsb3rnj6cp";

const common = {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the server reads the variable.
  admin: { key: "${E2E_ADMIN_KEY}" },
  providers: { up: { kind: "openai", base_url: "http://127.0.0.1:1" } },
  targets: { main: { provider: "up", upstream_model: "m", price: { input: "1", output: "1" } } },
  models: { fast: { targets: ["main"] } },
};

/** The configuration of a server with one tenant. */
export function benchConfig(tenant: string): string {
  return JSON.stringify({ ...common, tenants: { [tenant]: {} } });
}

/** Starts `penstock serve` at an address, with the tenants search and secret and more settings. */
export function serve(url: string, settings: object = {}, env: Record<string, string> = {}): Promise<Started> {
  const config = { ...common, tenants: { search: {}, secret: {} }, ...settings };
  return penstock({
    args: ["serve"],
    ready: /serving/,
    env: { PENSTOCK_LISTEN: new URL(url).host, E2E_ADMIN_KEY: adminKey, ...env },
    config: JSON.stringify(config),
  });
}
