/**
 * Client of Recoup: report failures, retry by their code, work off what is due, ask the gate before
 * promoting. It runs in Node and in browsers, and depends on nothing.
 */
export { Client, type CallOptions, type ClientOptions } from "./client.js";
export type { Sleep } from "./clock.js";
export { codes, type Code, type Definition } from "./codes_gen.js";
export { Emitter, UndeliveredError, type EmitterOptions, type EmitterStats } from "./emitter.js";
export { classify, isRetryable, RecoupError, type Condition, type ErrorCode, type Repeatable } from "./error.js";
export { LeaseLostError } from "./lease.js";
export { decode } from "./response.js";
export { delay, policyOf, retry, type Attempt, type Policy, type RetryOptions, type Schedule } from "./retry.js";
export * from "./types.js";
export { StoppedError, Worker, type WorkerOptions } from "./worker.js";
export type * as api from "./api_gen.js";
