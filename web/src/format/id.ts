/** `job_…KM2VTX`: the prefix and the tail, because ULIDs of one minute start alike. */
export function shortId(id: string): string {
  if (!id.includes("_")) return id; // a name
  const { prefix, tail, middle } = splitId(id);
  return middle === "" ? id : `${prefix}…${tail}`;
}

/** The parts of an id: `job_`, the digits that ids share, and the six that differ. */
export function splitId(id: string): { prefix: string; middle: string; tail: string } {
  const at = id.indexOf("_") + 1;
  const rest = id.slice(at);
  if (rest.length <= 10) return { prefix: id.slice(0, at), middle: "", tail: rest };
  return { prefix: id.slice(0, at), middle: rest.slice(0, -6), tail: rest.slice(-6) };
}
