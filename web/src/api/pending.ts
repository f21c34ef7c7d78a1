// The shapes of routes that docs/api/openapi.json does not have yet. Each goes when its branch is merged.

export interface Me {
  kind: string;
  name: string;
  email: string;
  roles: string[];
  tenants: { id: string; name: string; roles: string[] }[];
  all_tenants_roles: string[];
  csrf: string;
  session: { id: string; expires_at: string } | null;
  version: string;
  environment: string;
  features: string[];
}

export interface SignInOptions {
  issuers: { name: string; title?: string }[];
  key: boolean;
  link: boolean;
}
