import { UserPlus } from "lucide-react";
import { useState } from "react";
import { Button } from "@/components/Button";
import { CurlButton } from "@/components/Copy";
import { later } from "@/components/later";
import { PageHead } from "@/frame/PageHead";
import { useLive } from "@/live";
import { useOneTenant } from "@/routes";
import { MembersTable } from "./MembersTable";

const GrantDialog = later(() => import("./GrantDialog").then((m) => m.GrantDialog));

const topics = { "audit.appended": ["/admin/v1/members"] };

/** The roles that count in one tenant. Sessions are on the page over all tenants. */
export function TenantMembersPage() {
  const tenant = useOneTenant();
  const [granting, setGranting] = useState(false);
  useLive(null, topics);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <PageHead title="Members" live detail="Roles in this tenant, and roles for all tenants, which count here, too.">
        <CurlButton call={{ path: "/admin/v1/members", query: { tenant } }} />
        <Button look="accent" icon={UserPlus} onClick={() => setGranting(true)}>
          Grant role…
        </Button>
      </PageHead>
      <MembersTable tenant={tenant} inherited />
      {granting && <GrantDialog tenant={tenant} onClose={() => setGranting(false)} />}
    </div>
  );
}
