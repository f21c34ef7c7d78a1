export { basePath, serverURL } from "./base";
export { type Api, api, dataOf, type Schemas } from "./client";
export { type CurlCall, curlOf } from "./curl";
export { download } from "./download";
export { ApiError, asApiError } from "./error";
export { parseExact, printExact } from "./exact";
export { read, readKey, readPages } from "./query";
export { usePages } from "./usePages";
