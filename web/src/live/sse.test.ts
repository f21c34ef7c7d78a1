import { expect, test } from "vitest";
import { EventReader, type ServerEvent } from "./sse";

const stream = ': hello\n\nid: 7\nevent: job.finished\ndata: {"a":\ndata: 1}\n\nid: 8\r\nevent: lag\r\ndata: x\r\n\r\n: ping\n\n';

function readIn(size: number): { events: ServerEvent[]; lastId: string } {
  const reader = new EventReader();
  const events: ServerEvent[] = [];
  for (let i = 0; i < stream.length; i += size) events.push(...reader.push(stream.slice(i, i + size)));
  return { events, lastId: reader.lastId };
}

test("events do not depend on where the stream is cut", () => {
  const whole = readIn(stream.length);
  expect(whole.events).toEqual([
    { id: "7", type: "job.finished", data: '{"a":\n1}' },
    { id: "8", type: "lag", data: "x" },
  ]);
  expect(whole.lastId).toBe("8");
  for (let size = 1; size < 20; size++) expect(readIn(size)).toEqual(whole);
});

test("an event that is cut off does not move the resume point", () => {
  const reader = new EventReader();
  reader.push("id: 1\ndata: a\n\nid: 2\ndata: b\n");
  expect(reader.lastId).toBe("1");
});
