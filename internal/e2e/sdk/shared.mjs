// What several scripts do: have a model call tools, plainly and in a stream, and give it the results; and say what they saw.

const what = { type: "object", properties: { what: { type: "string" } } };

export async function chatTools(client, model, content) {
  const messages = [{ role: "user", content }];
  const tools = [{ type: "function", function: { name: "look", description: "Looks something up.", parameters: what } }];
  const question = { model, messages, tools, tool_choice: "required" };
  const plain = await client.chat.completions.create(question);
  const streamed = await client.chat.completions.stream(question).finalChatCompletion();
  const { message } = plain.choices[0];
  const results = message.tool_calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "It is 7." }));
  const answered = await client.chat.completions.create({
    model, tools, messages: [...messages, message, ...results, { role: "user", content: "And so? [play:text]" }],
  });
  const told = ({ choices: [{ message, finish_reason }] }) => ({
    content: message.content,
    calls: message.tool_calls.map(({ id, function: { name, arguments: given } }) => ({ name, arguments: given, has_id: id !== "" })),
    finish_reason,
  });
  return { plain: told(plain), streamed: told(streamed), answered: answered.choices[0].message.content };
}

export async function messageTools(client, model, content) {
  const messages = [{ role: "user", content }];
  const tools = [{ name: "look", description: "Looks something up.", input_schema: what }];
  const question = { model, max_tokens: 64, messages, tools, tool_choice: { type: "any" } };
  const plain = await client.messages.create(question);
  const streamed = await client.messages.stream(question).finalMessage();
  const results = plain.content
    .filter(({ type }) => type === "tool_use")
    .map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "It is 7." }));
  const answered = await client.messages.create({
    model, max_tokens: 64, tools, messages: [
      ...messages,
      { role: "assistant", content: plain.content },
      { role: "user", content: [...results, { type: "text", text: "And so? [play:text]" }] },
    ],
  });
  return { plain: told(plain), streamed: told(streamed), answered: answered.content };
}

// told is what a message says, with how it ended and what it used.
export const told = ({ content, stop_reason, usage }) => ({
  content: content.map(({ id, ...rest }) => (id === undefined ? rest : { ...rest, has_id: id !== "" })),
  stop_reason,
  usage,
});

// met is an error as callers can tell it from others.
export const met = (error) => ({
  class: error.constructor.name, status: error.status, type: error.type, code: error.code,
  request_id: error.requestID, message: error.message,
});

// The smallest picture there is: one transparent pixel, as PNG.
export const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

// What answers and arguments of tools are to look like.
export const person = {
  type: "object",
  properties: {
    name: { type: "string" }, age: { type: "integer" }, tags: { type: "array", items: { enum: ["new", "old"] } },
    address: { anyOf: [{ type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false }, { type: "null" }] },
  },
  required: ["name", "age", "tags", "address"],
  additionalProperties: false,
};
export const city = {
  type: "object",
  properties: { city: { type: "string" }, unit: { type: "string", enum: ["celsius", "fahrenheit"] } },
  required: ["city", "unit"],
  additionalProperties: false,
};

// The models of the scripts that run tool loops: one for each kind of target.
export const models = process.env.PENSTOCK_MODELS?.split(",") ?? ["chats", "claude", "chat-only", "gemini", "bedrock"];
