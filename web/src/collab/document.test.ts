import { Text } from "@codemirror/state";
import { expect, test } from "vitest";
import { difference, SharedDocument } from "./document";

const make = (text: string, version = 0) => new SharedDocument("t1-0", "me", text, version, () => {});
const update = (version: number, changes: unknown, client = "other") => ({ version, client, author: "", at: "", changes });

test("changes never split a character", () => {
  const d = make("a😀b");
  d.dispatch({ changes: { from: 2, to: 3, insert: "\ude01" } }); // the second half of the emoji
  expect(d.text).toBe("a😁b");
  expect(d.unsent.map((u) => u.changes.toJSON())).toEqual([[1, [2, "😁"], 1]]);
  d.dispatch({ changes: { from: 0, insert: "\ud800" } });
  expect(d.text).toBe("\ufffda😁b");
});

test("a carriage return is a character, as on the server", () => {
  const d = make("a\r\nb");
  expect(d.state.doc.length).toBe(4);
  d.dispatch({ changes: { from: 4, insert: "c" } });
  expect(d.unsent[0]?.changes.toJSON()).toEqual([4, [0, "c"]]);
});

test("updates that are known are left out, and a gap is noticed", () => {
  const d = make("ab");
  expect(d.receive([update(2, [3, [0, "x"]])])).toBe("gap");
  expect(d.receive([update(1, [[0, "-"], 2])])).toBe("received");
  expect(d.receive([update(1, [[0, "-"], 2]), update(2, [3, [0, "x"]])])).toBe("received");
  expect([d.text, d.version]).toEqual(["-abx", 2]);
});

test("own changes wait for the server, and positions go both ways", () => {
  const d = make("ab");
  d.dispatch({ changes: { from: 2, insert: "cd" } });
  d.receive([update(1, [[0, ">>"], 2])]);
  expect(d.text).toBe(">>abcd");
  expect([d.toServer(6), d.toLocal(2, 0, 1), d.toLocal(4, 1, -1)]).toEqual([4, 6, 4]);
  d.receive([update(2, [4, [0, "cd"]], "me")]);
  expect([d.unsent.length, d.text]).toEqual([0, ">>abcd"]);
});

test("a text whose updates are gone is taken over without the loss of own changes", () => {
  const d = make("The quick fox.");
  d.dispatch({ changes: { from: 14, insert: " It jumps." } });
  d.restart("A very quick red fox.", 700);
  expect([d.text, d.version]).toEqual(["A very quick red fox. It jumps.", 700]);
  expect(d.unsent.length).toBe(1);
});

test("saved changes are made again after a reload", () => {
  const d = make("ab", 3);
  d.dispatch({ changes: { from: 1, insert: "x" } });
  d.dispatch({ changes: { from: 2, insert: "y" } });
  const saved = d.save();
  if (!saved) throw new Error("nothing was saved");
  const again = new SharedDocument(saved.id, saved.client, saved.base, saved.version, () => {});
  again.replay(saved);
  expect([again.text, again.version, again.unsent.length]).toEqual(["axyb", 3, 2]);
});

test("a difference keeps shared ends and whole characters", () => {
  const of = (x: string, y: string) => difference(Text.of(x.split("\n")), Text.of(y.split("\n"))).toJSON();
  expect(of("a😀b", "a😁b")).toEqual([1, [2, "😁"], 1]);
  expect(of("aaa", "aa")).toEqual([2, [1]]);
  expect(of("same", "same")).toEqual([4]);
});
