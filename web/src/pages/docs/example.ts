import { type Operation, resolve, type Schema, type Spec } from "./spec";

const deepest = 6;

/** A value that fits a schema: its examples, else the required members with plain values. */
export function exampleOf(spec: Spec, given: Schema, depth = 0): unknown {
  const { schema } = resolve(spec, given);
  if (schema.examples && schema.examples.length > 0) return schema.examples[0];
  if (schema.enum && schema.enum.length > 0) return schema.enum[0];
  if (schema.anyOf) {
    const one = schema.anyOf.find((s) => s.type !== "null");
    return one ? exampleOf(spec, one, depth + 1) : null;
  }
  const type = Array.isArray(schema.type) ? schema.type.find((t) => t !== "null") : schema.type;
  switch (type) {
    case "object":
      return objectOf(spec, schema, depth);
    case "array":
      return schema.items && depth < deepest ? [exampleOf(spec, schema.items, depth + 1)] : [];
    case "integer":
    case "number":
      return 0;
    case "boolean":
      return false;
    case "string":
      return schema.format === "date-time" ? "2026-11-17T00:00:00Z" : "";
    default:
      return schema.properties ? objectOf(spec, schema, depth) : null;
  }
}

function objectOf(spec: Spec, schema: Schema, depth: number): Record<string, unknown> {
  if (depth >= deepest) return {};
  const entries = (schema.required ?? []).flatMap((name): [string, unknown][] => {
    const member = schema.properties?.[name];
    return member ? [[name, exampleOf(spec, member, depth + 1)]] : [];
  });
  return Object.fromEntries(entries);
}

/** The example of a JSON body: that of the document, or one made of the schema. Undefined where the operation takes no JSON. */
export function exampleBody(spec: Spec, op: Operation): unknown {
  const media = op.requestBody?.content["application/json"];
  if (!media) return undefined;
  if (media.example !== undefined) return media.example;
  return media.schema ? exampleOf(spec, media.schema) : {};
}
