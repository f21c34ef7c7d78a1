export * from "./cost";
export * from "./duration";
export * from "./goDuration";
export * from "./id";
export * from "./json";
export * from "./number";
export * from "./time";
