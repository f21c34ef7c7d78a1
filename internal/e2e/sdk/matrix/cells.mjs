// A cell is one feature of one client on one kind of target, written client|feature|model. Each script here is the clients of one
// family in one process: node is slow to start. sdk_matrix_test.go names the cells to play, and compares them with those that are printed.
import assert from "node:assert/strict";
import { z } from "zod";
import { pixel } from "../shared.mjs";

// play runs the cells that the arguments name. It prints a cell only if its feature returned, so if all its assertions passed.
export async function play(clients) {
  for (const cell of process.argv.slice(2)) {
    const [client, feature, model] = cell.split("|");
    try {
      const run = clients[client]?.[feature];
      assert.ok(run, "no script plays this cell");
      await run(model);
      console.log(cell);
    } catch (error) {
      console.error(`${cell}: ${error.stack}`);
      process.exitCode = 1;
    }
  }
}

export const system = "Be brief.";
export const question = "Tell me about rivers, please [sim:tokens=12]";

// A question that mentions both tools, so that the model calls both in one turn.
export const lookup = "What are the weather and the time in Rome?";
export const toolNames = ["get_time", "get_weather"];
export const city = z.object({ city: z.string() });
export const cityJSON = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };

// Person is what structured answers are to be; strict schemas require every member.
export const Person = z.object({
  name: z.string(), age: z.number().int(), tags: z.array(z.enum(["new", "old"])), address: z.object({ city: z.string() }).nullable(),
});

// A picture in the request and one at an address. The simulator says how many it sees, and how large those in the request are.
export const imageData = pixel;
export const imageAddress = "https://example.com/cat.png";
export const sawData = new RegExp(`sees 1 image of ${Buffer.from(pixel, "base64").length} bytes`);
export const sawAddress = /sees 1 image by reference/;

// calledBoth holds that both tools were called in one turn, with arguments by their schema.
export function calledBoth(calls) {
  assert.deepEqual(calls.map(({ name }) => name).sort(), toolNames);
  for (const { args } of calls) assert.equal(typeof args.city, "string");
}

// inPieces holds that a stream gave the text of a plain answer, in more than one piece.
export function inPieces(pieces, text) {
  assert.ok(pieces.length > 1, `the stream had ${pieces.length} pieces of text`);
  assert.equal(pieces.join(""), text);
}

// until asks again until an answer is as wanted.
export async function until(done, ask) {
  for (let left = 600; left > 0; left--) {
    const answer = await ask();
    if (done(answer)) return answer;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.fail("it did not end within 30 seconds");
}
