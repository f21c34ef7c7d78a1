import { expect, test } from "vitest";
import { partialsOf, piecesOf, variablesOf } from "./template";

test("pieces are the template, and name the variables that tags read", () => {
  const template =
    "You answer {{ name }} as {{customer.brand}}. \\{{literal}} {{#if vip}}Kind{{else}}Brief{{/if}} {{> lib/tone}} {{! note }} {{this.id}}";
  const pieces = piecesOf(template);
  expect(pieces.map((p) => p.text).join("")).toBe(template);
  expect(pieces.flatMap((p) => (p.variable ? [p.variable] : []))).toEqual(["name", "customer", "vip"]);
  expect(piecesOf("no tags")).toEqual([{ text: "no tags" }]);
  expect(piecesOf("{{open")).toEqual([{ text: "{{open" }]);
  expect(piecesOf("")).toEqual([]);
});

test("variables of templates, as the server derives them", () => {
  expect(variablesOf(["{{a}} {{#if b}}{{c.d}}{{/if}}", "{{#each list}}{{this.x}} {{@index}} {{a}}{{/each}}{{#if a}}{{/if}}"])).toEqual([
    { name: "a", kind: "string", optional: false },
    { name: "b", kind: "string", optional: true },
    { name: "c", kind: "object", optional: false },
    { name: "list", kind: "list", optional: false },
  ]);
  expect(variablesOf(["{{#if name}}x{{/if}}{{name}}"])).toEqual([{ name: "name", kind: "string", optional: false }]);
});

test("included prompts", () => {
  expect(partialsOf(["{{> lib/tone}} {{> lib/tone@3 }}", "{{>lib/tone}}"])).toEqual(["lib/tone", "lib/tone@3"]);
});
