export * from "./cost";
export * from "./duration";
export * from "./id";
export * from "./json";
export * from "./number";
export * from "./time";
