export type { ServerEvent } from "./sse";
export { live, useLiveState } from "./store";
export { type Topics, useLive } from "./useLive";
