import { type QueryClient, useMutation, useQueryClient } from "@tanstack/react-query";
import { api, dataOf, readKey, type Schemas } from "@/api";
import type { Role } from "@/session";

export type Member = Schemas["Member"];
export type Session = Schemas["Session"];

export function membersChanged(queries: QueryClient): void {
  for (const path of ["/admin/v1/members", "/v1/me"]) void queries.invalidateQueries({ queryKey: readKey(null, path) });
}

/** Who has the role: an address, a group of an issuer, or a person. */
export function memberName(m: Pick<Member, "email" | "group" | "issuer" | "person">): string {
  if (m.email) return m.email;
  if (m.group) return m.issuer ? `${m.group} (group of ${m.issuer})` : `${m.group} (group)`;
  return m.person ?? "";
}

/** Members of the file have no id. */
export function memberId(m: Member): string {
  return m.id ?? `file:${memberName(m)}:${m.tenant ?? ""}:${m.role}`;
}

export function useRoleChange() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ member, role }: { member: Member; role: Role }) =>
      dataOf(
        api(null).PATCH("/admin/v1/members/{member}", {
          params: { path: { member: member.id ?? "" }, ...(member.etag ? { header: { "If-Match": member.etag } } : {}) },
          body: { role },
        }),
      ),
    onSuccess: () => membersChanged(queries),
  });
}

/** How a person signed in, in words. */
export function issuerWord(issuer: string): string {
  if (issuer === "penstock:key") return "Operator key";
  if (issuer === "penstock:link") return "One-time link";
  return issuer;
}

/** The browser and the system of a user agent, in a few words; the whole text where it is unknown. */
export function agentWord(agent: string): string {
  const browser = /(Edg|OPR|Firefox|Chrome|Safari|curl)\/(\d+)/.exec(agent.replace(/Chrome\/\d+[^ ]* Safari\/\S+ (Edg|OPR)/, "$1"));
  const system = /(Windows|Mac OS X|Android|iPhone|iPad|Linux)/.exec(agent)?.[1];
  if (!browser) return agent;
  const names: Record<string, string> = { Edg: "Edge", OPR: "Opera" };
  const name = names[browser[1] ?? ""] ?? browser[1];
  return `${name} ${browser[2]}${system ? ` on ${system === "Mac OS X" ? "macOS" : system}` : ""}`;
}
