import { useMemo } from "react";
import { Chart } from "@/components/Chart";
import { formatRate, type Overview, traffic } from "./figures";

const none = { times: [], series: [] };

/** Calls and items by lane. */
export function Traffic({ overview }: { overview: Overview | undefined }) {
  const { times, series } = useMemo(() => (overview ? traffic(overview) : none), [overview]);
  return (
    <Chart
      title="Traffic by lane"
      note="requests and items per minute"
      times={times}
      series={series}
      stacked
      height={188}
      format={formatRate}
      empty={overview ? undefined : " "}
    />
  );
}
