import { useQuery } from "@tanstack/react-query";
import { read, serverURL } from "@/api";
import { Card } from "@/components/Card";
import { Chip } from "@/components/Chip";
import { KeyValue } from "@/components/KeyValue";
import { useMe, useRole } from "@/session";

/** The version, the environment and the features of this server. */
export function AboutSection() {
  const me = useMe();
  const operator = useRole(null, "operator");
  const config = useQuery({ ...read(null, "/admin/v1/config"), enabled: operator });
  const url = serverURL();
  return (
    <>
      <Card title="Penstock" className="max-w-3xl shrink-0">
        <div className="px-3.5 py-2">
          <KeyValue
            facts={[
              { name: "Version", value: <span className="num">{me.version}</span>, copy: me.version },
              { name: "Environment", value: me.environment },
              { name: "Address", value: <span className="font-mono text-12">{url}</span>, copy: url },
              ...(config.data
                ? [{ name: "Configuration", value: <span className="font-mono text-12">{config.data.hash}</span>, copy: config.data.hash }]
                : []),
            ]}
          />
        </div>
      </Card>
      <Card title="Features" note="Groups of routes that this server has" className="max-w-3xl shrink-0">
        <div className="flex flex-wrap gap-1.5 p-3.5">
          {me.features.map((feature) => (
            <Chip key={feature} mono>
              {feature}
            </Chip>
          ))}
        </div>
      </Card>
    </>
  );
}
