import type { Client } from "./client.js";
import { quietly } from "./emitter.js";
import { classify, FinalError, RecoupError, type Condition } from "./error.js";
import { Lease, LeaseLostError } from "./lease.js";
import { ResultSender } from "./result_sender.js";
import { delay, longestPauseMs, pause } from "./retry.js";
import type { GovernedError, Result } from "./types.js";

/** What a Worker is made of. Name and handler are required. */
export interface WorkerOptions {
  /** Of this worker, in the history of errors. */
  name: string;
  /**
   * Does the work of an error again: that it returns means that it worked. What it throws is classified.
   * Its signal aborts with a LeaseLostError when the error is no longer this worker's, and with a
   * StoppedError when the worker stops and the handler did not finish in time.
   */
  handler: (error: GovernedError, signal: AbortSignal) => Promise<void> | void;
  /** What is true of every run of the handler: "idempotency_key" if doing the work twice does no harm. */
  proven?: Condition[];
  /** Default: every table that the key is for. */
  tables?: string[];
  /** Errors at once; default 8, at most 1000. */
  concurrency?: number;
  /** Default: the policy's. */
  leaseSeconds?: number;
  /** How long a claim waits for something to fall due; default 20 s, at most 60 s. */
  pollSeconds?: number;
  /** How long handlers may go on after a stop; default 30 s. */
  graceMs?: number;
  /** Is told of failures. */
  onError?: (error: RecoupError) => void;
}

/** Why a handler's signal aborts: the worker has stopped. */
export class StoppedError extends Error {
  override readonly name = "StoppedError";
  constructor() {
    super("the worker has stopped");
  }
}

/** How long handlers may take to return after their signal has aborted, and results to be sent after that. */
const unwindMs = 5000;
/** The longest reason that a server takes, in bytes. */
const maxReason = 1000;

/** An error that is worked on: what aborts its handler, and what ends everything about it. */
interface Task {
  handler: AbortController;
  over: AbortController;
}

type Settings = WorkerOptions & Required<Pick<WorkerOptions, "concurrency" | "pollSeconds" | "graceMs" | "onError">>;

/** Retries errors: claims those that are due, runs a handler on each, extends the lease meanwhile, and sends how it went. */
export class Worker {
  readonly #client: Client;
  readonly #o: Settings;

  constructor(client: Client, options: WorkerOptions) {
    this.#client = client;
    this.#o = { concurrency: 8, pollSeconds: 20, graceMs: 30_000, ...options, onError: quietly(options.onError) };
    const { name, concurrency, pollSeconds } = this.#o;
    if (!name) throw new TypeError("recoup: a worker needs a name, which the history of errors keeps");
    if (!(concurrency >= 1 && concurrency <= 1000)) throw new TypeError(`recoup: the concurrency is ${concurrency}: expected 1 to 1000`);
    if (!(pollSeconds >= 0 && pollSeconds <= 60)) throw new TypeError(`recoup: the poll is ${pollSeconds} seconds: expected 0 to 60`);
  }

  /**
   * Works until the signal aborts, or until the server refuses the worker for good: then it rejects. It claims
   * no more, lets running handlers finish for as long as graceMs says, aborts them, and sends their results.
   */
  async run(signal: AbortSignal): Promise<void> {
    const shift = new Shift(this.#client, this.#o);
    try {
      await shift.claimAll(signal);
    } finally {
      await shift.drain();
    }
  }
}

/** One run of a worker. */
class Shift {
  readonly #tasks = new Map<Promise<void>, Task>();
  readonly #end = new AbortController();
  readonly #sender: ResultSender;

  constructor(readonly client: Client, readonly o: Settings) {
    this.#sender = new ResultSender(client, this.#end.signal);
  }

  /** Claims whenever there is a free slot, until the signal aborts. */
  async claimAll(stop: AbortSignal): Promise<void> {
    for (let failures = 0; await this.#free(stop); ) {
      try {
        const claimed = await this.#claim(stop);
        const received = this.client.now();
        for (const error of claimed) this.#begin(error, received);
        failures = 0;
      } catch (thrown) {
        if (stop.aborted) return; // that is why it failed
        const error = classify(thrown);
        if (!error.isRetryable({ proven: ["idempotency_key"] })) throw error; // a claim that comes twice does no harm
        this.o.onError(error);
        const wait = Math.max(delay(pause, ++failures, this.client.random), Math.min(error.retryAfter * 1000, longestPauseMs));
        await this.client.sleep(wait, stop).catch(() => {}); // when it ends early, so does claiming
      }
    }
  }

  /** Waits for a free slot; false: the signal aborted. */
  async #free(stop: AbortSignal): Promise<boolean> {
    if (!stop.aborted && this.#tasks.size >= this.o.concurrency) {
      let end = () => {};
      const stopped = new Promise<void>((resolve) => (end = resolve));
      stop.addEventListener("abort", end, { once: true });
      await Promise.race([stopped, ...this.#tasks.keys()]);
      stop.removeEventListener("abort", end);
    }
    return !stop.aborted;
  }

  /**
   * Asks for what is due, and once more, with a wait, if nothing is. The first request is answered at once and
   * is not broken off by a stop, because what it leased would have to run out; the second nearly always is idle.
   */
  async #claim(stop: AbortSignal): Promise<GovernedError[]> {
    const { name, tables, leaseSeconds, pollSeconds, concurrency } = this.o;
    const claim = { worker: name, limit: concurrency - this.#tasks.size, ...(tables && { tables }), ...(leaseSeconds && { lease_seconds: leaseSeconds }) };
    const prompt = new AbortController();
    const late = () => void this.client.sleep(unwindMs, prompt.signal).then(() => prompt.abort(), () => {}); // it was answered in time
    stop.addEventListener("abort", late, { once: true });
    let claimed = await this.client.claim(claim, { retry: false, signal: prompt.signal }).finally(() => {
      stop.removeEventListener("abort", late);
      prompt.abort();
    });
    if (claimed.length === 0 && !stop.aborted) {
      claimed = await this.client.claim({ ...claim, wait_seconds: Math.max(pollSeconds, 1) }, { retry: false, signal: stop });
    }
    return claimed.filter((e) => e.lease_token); // without one, the claim found that its last attempt had run out
  }

  #begin(error: GovernedError, received: number): void {
    const task = { handler: new AbortController(), over: new AbortController() };
    const work: Promise<void> = this.#work(error, received, task).finally(() => this.#tasks.delete(work));
    this.#tasks.set(work, task);
  }

  /** Runs the handler on one error under its lease, and sends how it went. */
  async #work(error: GovernedError, received: number, { handler, over }: Task): Promise<void> {
    const held = new AbortController();
    const kept = new Lease(error, received).keep(this.client, this.#sender, held.signal).then((lost) => {
      if (!lost) return;
      handler.abort(new LeaseLostError(lost));
      this.o.onError(lost === "expired" ? new RecoupError({ error_code: "LEASE_LOST", message: `The lease on ${error.error_id} was not confirmed in time.` }) : lost);
    });
    let failure: unknown;
    let failed = false;
    try {
      await this.o.handler(error, handler.signal);
    } catch (thrown) {
      [failed, failure] = [true, thrown];
    }
    held.abort();
    await kept;
    const cause: unknown = handler.signal.reason;
    if (failed && cause instanceof LeaseLostError) return; // whoever has the lease now will say
    const result: Result = { error_id: error.error_id, lease_token: error.lease_token ?? "", outcome: "succeed" };
    await this.#submit(failed ? { ...result, ...this.#failure(failure, cause) } : result, over.signal);
  }

  /** Puts what a handler threw into the words of the wire. */
  #failure(thrown: unknown, cause: unknown): Partial<Result> {
    const error = classify(thrown);
    return {
      outcome: "fail", code: cause instanceof StoppedError ? "WORKER_LOST" : error.code, reason: excerpt(thrown),
      ...(error.retryAfter > 0 && { retry_after: error.retryAfter }), ...(this.o.proven && { proven: this.o.proven }),
    };
  }

  /** Sends a result until the server has decided about it: its token tells that it is the same. */
  async #submit(result: Result, over: AbortSignal): Promise<void> {
    for (let failures = 1; !over.aborted; failures++) {
      const { error, decided } = await this.#sender.send(result);
      if (error && !over.aborted) this.o.onError(error);
      if (decided || !error?.isRetryable({ proven: ["idempotency_key"] })) return;
      await this.client.sleep(delay(pause, failures, this.client.random), over).catch(() => {}); // the worker ends
    }
  }

  /** Waits for handlers to finish, then for them to be broken off. What does not even end then is left behind. */
  async drain(): Promise<void> {
    if (await this.#finished(this.o.graceMs)) return;
    for (const { handler } of this.#tasks.values()) handler.abort(new StoppedError());
    if (await this.#finished(unwindMs)) return;
    this.#end.abort();
    for (const { over } of this.#tasks.values()) over.abort();
    throw new FinalError({ error_code: "WORKER_LOST", message: `${this.#tasks.size} handlers did not return, or their results could not be sent.` });
  }

  async #finished(ms: number): Promise<boolean> {
    const done = new AbortController();
    const tasks = Promise.all(this.#tasks.keys()).then(() => true);
    const late = this.client.sleep(ms, done.signal).then(() => false, () => false);
    const finished = await Promise.race([tasks, late]);
    done.abort();
    return finished;
  }
}

/** The text of what was thrown, as far as a server takes it. The server removes secrets before it keeps it. */
function excerpt(thrown: unknown): string {
  const text = thrown instanceof Error ? thrown.message || thrown.name : String(thrown);
  const bytes = new TextEncoder().encode(text.replaceAll("\0", "?"));
  return new TextDecoder().decode(bytes.subarray(0, maxReason)).replace(/\uFFFD$/, "");
}
