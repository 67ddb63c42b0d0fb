import type { Operations } from "./api_gen.js";

/** The name of an operation: its method and its path. */
export type Operation = keyof Operations;

/** What an operation takes: parameters of its path and query, and a body. */
export type Input<K extends Operation> = Omit<Operations[K], "answer">;

/** What an operation answers. */
export type Answer<K extends Operation> = Operations[K]["answer"];

type Body<K extends Operation> = Operations[K] extends { body?: infer B } ? NonNullable<B> : never;
type Element<T> = NonNullable<T> extends ReadonlyArray<infer E> ? E : never;

/** A failure to be governed: what could not go on, in which error table, and why. */
export type Report = Body<"POST /v1/errors">;
/** What is going to happen to a failure that was reported. */
export type Reported = Answer<"POST /v1/errors">;
/** One governed failure of one entity in one error table: the thing with a lifecycle. */
export type GovernedError = Answer<"GET /v1/errors/{id}">;
/** Whether an entity may go on, and if not, why, whose turn it is and until when. */
export type Gate = Answer<"GET /v1/promotion/{entity}">;
/** Asks to move an entity to its next phase. */
export type Promotion = Body<"POST /v1/promotions">;
/** A promotion that was recorded. */
export type Promoted = Answer<"POST /v1/promotions">;
/** The fact that a failure happened: a row of the ledger, without message, stack or payload. */
export type LedgerEvent = Extract<Body<"POST /v1/events">, { code: string }>;
/** What became of a batch of events. */
export type EventsAccepted = Answer<"POST /v1/events">;
/** Asks for errors that are due to be retried. */
export type Claim = Body<"POST /v1/retries/claim">;
/** A worker's word on one attempt. */
export type Result = Element<Body<"POST /v1/retries/results">["results"]>;
