export interface ServerEvent {
  id: string;
  type: string;
  data: string;
}

/** Reads Server-Sent Events out of pieces of text that may be cut anywhere. */
export class EventReader {
  private rest = "";
  private type = "";
  private data: string[] = [];
  /** The id of the last complete event, to resume after. */
  lastId = "";
  private id = "";

  /** The events that the piece completes. */
  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    const lines = (this.rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.rest = lines.pop() ?? "";
    for (const line of lines) {
      if (line === "") this.finish(events);
      else this.field(line);
    }
    return events;
  }

  private finish(events: ServerEvent[]): void {
    if (this.id) this.lastId = this.id;
    if (this.data.length > 0) events.push({ id: this.lastId, type: this.type || "message", data: this.data.join("\n") });
    this.type = "";
    this.data = [];
  }

  private field(line: string): void {
    if (line.startsWith(":")) return; // a comment keeps the connection open
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "event") this.type = value;
    else if (name === "data") this.data.push(value);
    else if (name === "id" && !value.includes("\0")) this.id = value;
  }
}
