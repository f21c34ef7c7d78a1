import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { api, dataOf, readKey } from "@/api";
import { type Me, type Role, rolesIn, useMe } from "@/session";
import { promptTopics } from "./prompt";

/** Reads everything about prompts again, after a change of one. */
export function useReread(tenant: string): () => Promise<void> {
  const queries = useQueryClient();
  return useCallback(async () => {
    const paths = [...promptTopics["prompt.changed"], "/v1/prompts/{name}/draft"];
    await Promise.all(paths.map((path) => queries.invalidateQueries({ queryKey: readKey(tenant, path) })));
  }, [queries, tenant]);
}

/** Whether the person has one of some roles in a tenant. An admin has every role. */
export function useHas(tenant: string): (roles: readonly Role[]) => boolean {
  const mine = rolesIn(useMe(), tenant);
  return (roles) => mine.has("admin") || roles.some((role) => mine.has(role));
}

/** Whether a name in an answer is that of the person: the e-mail address, or the name behind `person:`. */
export function isMe(me: Pick<Me, "name" | "email">, name: string): boolean {
  return me.email ? name === me.email : name === `person:${me.name}`;
}

/** A move of a label by compare-and-set: `expect` is the version that the person saw, 0 for none. */
export interface MoveOrder {
  name: string;
  label: string;
  version: number;
  expect: number;
  reason: string;
}

export function moveLabel(tenant: string, { name, label, version, expect, reason }: MoveOrder) {
  const body = { version, expect, ...(reason ? { reason } : {}) };
  return dataOf(api(tenant).PUT("/v1/prompts/{name}/labels/{label}", { params: { path: { name, label } }, body }));
}

export function requestMove(tenant: string, { name, label, version, expect, reason }: MoveOrder) {
  const body = { version, expect, ...(reason ? { reason } : {}) };
  return dataOf(api(tenant).POST("/v1/prompts/{name}/labels/{label}/requests", { params: { path: { name, label } }, body }));
}

export function removeLabel(tenant: string, name: string, label: string, etag: string | null) {
  const header = etag ? { "If-Match": etag } : {};
  return dataOf(api(tenant).DELETE("/v1/prompts/{name}/labels/{label}", { params: { path: { name, label }, header } }));
}
