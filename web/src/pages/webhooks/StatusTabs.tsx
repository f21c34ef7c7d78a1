import { StateGlyph } from "@/components/StateGlyph";
import { Tabs } from "@/components/Tabs";
import { deliveryStatuses } from "./route";
import { type Delivery, deliveryState } from "./state";

const tabs = [
  { value: "all", label: "All" },
  ...deliveryStatuses.map((s) => ({ value: s, label: deliveryState[s].word, icon: <StateGlyph state={deliveryState[s].state} /> })),
] as const;

/** All, pending, delivered, failed. */
export function StatusTabs({
  value,
  onChange,
}: {
  value: Delivery["status"] | undefined;
  onChange: (status: Delivery["status"] | undefined) => void;
}) {
  return (
    <Tabs
      label="State"
      className="px-4 md:px-6"
      value={value ?? "all"}
      tabs={tabs}
      onChange={(status) => onChange(status === "all" ? undefined : status)}
    />
  );
}
