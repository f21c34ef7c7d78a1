/** The upper edges of stacked series, the last series on top. Unknown values count as nothing. */
export function stackUp(series: readonly (readonly (number | null)[])[]): number[][] {
  const length = series[0]?.length ?? 0;
  const sum = new Array<number>(length).fill(0);
  return series.map((values) =>
    Array.from({ length }, (_, i) => {
      const next = (sum[i] ?? 0) + (values[i] ?? 0);
      sum[i] = next;
      return next;
    }),
  );
}
