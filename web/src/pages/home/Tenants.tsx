import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { read } from "@/api";
import { Card } from "@/components/Card";
import { Cost } from "@/components/Cost";
import { formatCount, formatPercent, missing } from "@/format";
import { live } from "@/live";
import { useMe } from "@/session";
import { rateIn } from "./figures";
import { CardLink, Cell, CellHead, SimpleTable } from "./parts";

/** A page over all tenants asks each tenant for its figures: at most so many. */
const mostTenants = 12;

export function useFirstTenants(): string[] {
  return useMe()
    .tenants.slice(0, mostTenants)
    .map((t) => t.id);
}

/** Each tenant with its figures of the day; the name leads to its Home. */
export function Tenants() {
  const me = useMe();
  const tenants = useFirstTenants();
  const more = me.tenants.length - tenants.length;
  return (
    <Card
      title="Tenants"
      note={more > 0 || me.more_tenants ? `the first ${mostTenants}; choose others at the top` : "last 24 hours"}
      aside={<CardLink page="tenants">All tenants</CardLink>}
    >
      {tenants.length === 0 ? (
        <p className="px-3.5 py-4 text-ink-2">
          There is no tenant yet. Create one with POST /admin/v1/tenants or in the configuration file.
        </p>
      ) : (
        <SimpleTable label="Tenants">
          <thead>
            <tr>
              <CellHead>Tenant</CellHead>
              <CellHead right wide>
                Requests
              </CellHead>
              <CellHead right>Success</CellHead>
              <CellHead right wide>
                Waiting
              </CellHead>
              <CellHead right>Dead letters</CellHead>
              <CellHead right wide>
                Spend today
              </CellHead>
            </tr>
          </thead>
          <tbody>
            {tenants.map((t) => (
              <TenantRow key={t} tenant={t} />
            ))}
          </tbody>
        </SimpleTable>
      )}
    </Card>
  );
}

function TenantRow({ tenant }: { tenant: string }) {
  const { data: o, error } = useQuery({
    ...read(tenant, "/v1/overview", { params: { query: { window: "day" } } }),
    refetchInterval: () => (live.get().paused ? false : 30_000),
  });
  const dead = o?.dead_letters;
  return (
    <tr className="border-t border-line">
      <th scope="row" className="w-1/3 max-w-0 px-3.5 py-1.5 text-left font-normal">
        <Link to="/t/$tenant" params={{ tenant }} className="block truncate font-medium hover:text-accent hover:underline">
          {tenant}
        </Link>
      </th>
      <Cell right wide>
        {error ? <span className="text-ink-3">not readable</span> : <Rate perSecond={o?.requests_per_second.value} />}
      </Cell>
      <Cell right>{formatPercent(o?.success_rate.value)}</Cell>
      <Cell right wide>
        {formatCount(o?.queue_depth.value)}
      </Cell>
      <Cell right>
        {dead ? (
          <span className={dead.count > 0 ? "text-red" : ""}>
            {formatCount(dead.count)}
            {dead.at_least && "+"}
          </span>
        ) : (
          missing
        )}
      </Cell>
      <Cell right wide>
        <Cost usd={o?.spend.today_usd} what="settled" />
      </Cell>
    </tr>
  );
}

function Rate({ perSecond }: { perSecond: number | null | undefined }) {
  const { value, unit } = rateIn(perSecond);
  return (
    <>
      {value} <span className="text-12 text-ink-3">{unit}</span>
    </>
  );
}
