import { sleep, type Sleep } from "./clock.js";
import { codes, defaultRetry } from "./codes_gen.js";
import { classify, FinalError, isCode, RecoupError, type ErrorCode, type Repeatable } from "./error.js";

/** A growing delay: the n-th is base × multiplier^(n-1), at most the cap. */
export interface Schedule {
  baseMs: number;
  capMs: number;
  multiplier: number;
  /** additive: up to a tenth is added; full: drawn between zero and the delay. */
  jitter: "additive" | "full";
}

/** Returns the wait before the n-th retry, counted from 1, in milliseconds. random returns a number in [0, 1). */
export function delay(schedule: Schedule, n: number, random: () => number): number {
  const plain = Math.min(schedule.baseMs * schedule.multiplier ** (Math.max(n, 1) - 1), schedule.capMs);
  if (schedule.jitter === "full") return plain * random();
  return Math.min(plain * (1 + 0.1 * random()), schedule.capMs);
}

/** How often a failure is retried, and when. */
export interface Policy extends Schedule {
  /** Tries after the first. */
  retries: number;
}

/** How a request that failed with a code is retried: by the registry's row of the code, else by its default. */
export function policyOf(code: ErrorCode): Policy {
  return { ...((isCode(code) && codes[code].retry) || defaultRetry), jitter: "additive" };
}

/** What an observer learns of one attempt. */
export interface Attempt {
  /** From 1. */
  number: number;
  /** undefined: it succeeded. */
  error: RecoupError | undefined;
  /** The wait that follows, in milliseconds; undefined: none does. */
  waitMs: number | undefined;
}

export interface RetryOptions extends Repeatable {
  signal?: AbortSignal | undefined;
  policy?: (code: ErrorCode) => Policy;
  observe?: ((attempt: Attempt) => void) | undefined;
  sleep?: Sleep;
  random?: () => number;
}

/**
 * Calls work until it succeeds or its failure forbids another try, and waits in between as
 * the code of the failure says, or as long as the other side asked for. A wish above the
 * policy's cap ends it: nobody comes back earlier than asked. What it throws is a
 * RecoupError whose cause is what work threw.
 */
export async function retry<T>(work: () => Promise<T>, options: RetryOptions = {}): Promise<T> {
  const { signal, observe, policy = policyOf, random = Math.random } = options;
  const wait = options.sleep ?? sleep;
  for (let number = 1; ; number++) {
    if (signal?.aborted) throw gaveUp(signal.reason);
    let error: RecoupError;
    try {
      const result = await work();
      observe?.({ number, error: undefined, waitMs: undefined });
      return result;
    } catch (thrown) {
      error = classify(thrown);
    }
    const waitMs = signal?.aborted ? undefined : next(policy(error.code), number, error, options, random);
    observe?.({ number, error, waitMs });
    if (signal?.aborted) throw gaveUp(error);
    if (waitMs === undefined) throw error;
    await wait(waitMs, signal).catch(() => {
      throw gaveUp(error);
    });
  }
}

/** The wait before the next try; undefined: there is none. */
function next(policy: Policy, attempt: number, error: RecoupError, known: Repeatable, random: () => number): number | undefined {
  const asked = error.retryAfter * 1000;
  if (!error.isRetryable(known) || attempt > policy.retries || asked > policy.capMs) return undefined;
  return Math.max(delay(policy, attempt, random), asked);
}

function gaveUp(cause: unknown): RecoupError {
  return new FinalError({ error_code: "REQUEST_CANCELLED", message: "The caller gave up before the call succeeded." }, { cause });
}

/** How long one waits after failures of which none is the last. */
export const pause: Schedule = { baseMs: 1000, capMs: 60_000, multiplier: 2, jitter: "additive" };

/** The most that a server can ask a background task to wait. */
export const longestPauseMs = 15 * 60_000;
