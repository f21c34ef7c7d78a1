import { expect, test } from "vitest";
import { actionsFor, keyName } from "./shortcuts";

const key = { key: "", metaKey: false, ctrlKey: false, altKey: false };

test("names of keys", () => {
  expect(keyName({ ...key, key: "J" })).toBe("j");
  expect(keyName({ ...key, key: "k", ctrlKey: true })).toBe("mod+k");
  expect(keyName({ ...key, key: " " })).toBe("Space");
});

test("a sequence wins over the single key of a list", () => {
  const move = () => {};
  const go = () => {};
  const list = (name: string) => (name === "j" ? move : undefined);
  const frame = (name: string) => (name === "g j" ? go : undefined);
  expect(actionsFor([list, frame], "g", "j")).toEqual([go]);
  expect(actionsFor([list, frame], "", "j")).toEqual([move]);
  expect(actionsFor([list, frame], "x", "j")).toEqual([move]);
});
