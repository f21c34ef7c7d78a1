export { Comments, NewComment } from "./Comments";
export { People } from "./People";
export { type Draft, SharedText } from "./SharedText";
export type { Comment, DraftSession, Person, Snapshot, Structure } from "./session";
export { useDraft } from "./useDraft";
