import { useNavigate, useSearch } from "@tanstack/react-router";
import { UserPlus } from "lucide-react";
import { useCallback, useMemo, useState } from "react";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { FilterBar, type FilterField } from "@/components/FilterBar";
import { later } from "@/components/later";
import { Tabs } from "@/components/Tabs";
import { PageBody } from "@/frame/Page";
import { PageHead } from "@/frame/PageHead";
import { useActions } from "@/frame/useActions";
import { useLive } from "@/live";
import { useMe } from "@/session";
import { MembersTable } from "./MembersTable";
import { RoleTable } from "./RoleTable";
import type { MemberTab } from "./route";
import { SessionsTable } from "./SessionsTable";

const GrantDialog = later(() => import("./GrantDialog").then((m) => m.GrantDialog));

const topics = { "audit.appended": ["/admin/v1/members", "/admin/v1/sessions"] };
const tabs: { value: MemberTab; label: string }[] = [
  { value: "members", label: "Members" },
  { value: "sessions", label: "Sessions" },
  { value: "roles", label: "What roles may do" },
];

/** Members and sessions over all tenants. */
export function MembersPage() {
  const search = useSearch({ from: "/frame/all/members" });
  const navigate = useNavigate({ from: "/all/members" });
  const me = useMe();
  const [granting, setGranting] = useState(false);
  const tab = search.tab ?? "members";
  useLive(null, topics);
  useActions(useMemo(() => [{ id: "grant", title: "Grant role…", icon: UserPlus, run: () => setGranting(true) }], []));
  const onPerson = useCallback(
    (person: string | undefined) => void navigate({ search: { tab: "sessions", ...(person ? { person } : {}) }, replace: true }),
    [navigate],
  );
  const memberFields: FilterField[] = [
    {
      name: "tenant",
      label: "Tenant",
      values: ["-", ...me.tenants.map((t) => t.id)],
      word: (id) => (id === "-" ? "all tenants" : id),
    },
  ];
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead title="Members & sessions" live>
        <CurlButton call={{ path: tab === "sessions" ? "/admin/v1/sessions" : "/admin/v1/members" }} />
        <Button look="accent" icon={UserPlus} onClick={() => setGranting(true)}>
          Grant role…
        </Button>
      </PageHead>
      <Tabs
        label="Members and sessions"
        className="px-4 md:px-6"
        value={tab}
        tabs={tabs}
        onChange={(next) => void navigate({ search: next === "members" ? {} : { tab: next }, replace: true })}
      />
      {tab === "members" && (
        <>
          <div className="px-4 py-3 md:px-6">
            <FilterBar
              fields={memberFields}
              values={search}
              onChange={(_, tenant) => void navigate({ search: tenant ? { tenant } : {}, replace: true })}
              placeholder="Filter by tenant"
            />
          </div>
          <MembersTable tenant={search.tenant} />
        </>
      )}
      {tab === "sessions" && (
        <>
          {search.person && (
            <div className="flex items-center gap-3 px-4 py-2.5 text-ink-2 md:px-6">
              <span>Only sessions of one person.</span>
              <Button small onClick={() => onPerson(undefined)}>
                Show all sessions
              </Button>
            </div>
          )}
          <SessionsTable person={search.person} onPerson={onPerson} />
        </>
      )}
      {tab === "roles" && (
        <div className="min-h-0 flex-1 overflow-y-auto pt-4">
          <PageBody>
            <RoleTable />
          </PageBody>
        </div>
      )}
      {granting && <GrantDialog tenant={search.tenant === "-" ? undefined : search.tenant} onClose={() => setGranting(false)} />}
    </div>
  );
}
