export { Comments, NewComment } from "./Comments";
export { People, statusText } from "./People";
export type { Comment, DraftSession, Person, Snapshot, Structure } from "./session";
export { type Draft as SharedDraft, useSharedDraft } from "./useSharedDraft";
