// Rankings of documents: Cohere's SDK in both versions of its API, and the AI SDK with Cohere's provider.
import { createCohere } from "@ai-sdk/cohere";
import { rerank } from "ai";
import { CohereClient, CohereClientV2, CohereError } from "cohere-ai";

const environment = process.env.PENSTOCK_URL;
const token = process.env.PENSTOCK_API_KEY;
const query = "What is the capital of France?";
const documents = ["Rivers flow to the sea.", "Paris is the capital of France.", "Berlin is the capital of Germany."];
const order = ({ results }) => results.map(({ index }) => index);

const second = await new CohereClientV2({ environment, token }).rerank({ model: "chats", query, documents, topN: 2 });
const first = await new CohereClient({ environment, token }).rerank({ model: "chats", query, documents: documents.map((text) => ({ text })), returnDocuments: true });
let refused;
try {
  await new CohereClientV2({ environment, token, maxRetries: 0 }).rerank({ model: "chats", query, documents: [] });
} catch (error) {
  refused = { ours: error instanceof CohereError, status: error.statusCode, param: error.body.error.param };
}

const cohere = createCohere({ baseURL: environment + "/v2", apiKey: token });
const { ranking } = await rerank({ model: cohere.reranking("chats"), query, documents, topN: 1, maxRetries: 0 });

console.log(JSON.stringify({
  second: { order: order(second), units: second.meta.billedUnits.searchUnits, documents: second.results.some(({ document }) => document) },
  first: { order: order(first), best: first.results[0].document.text },
  refused,
  vercel: ranking.map(({ originalIndex, document }) => ({ originalIndex, document })),
}, null, 2));
