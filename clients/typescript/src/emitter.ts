import type { Client } from "./client.js";
import { newId } from "./clock.js";
import { classify, RecoupError } from "./error.js";
import { delay, longestPauseMs, pause } from "./retry.js";
import type { LedgerEvent } from "./types.js";

/** What an Emitter is made of. Everything has a default. */
export interface EmitterOptions {
  /** Events that wait in memory; default 8192. */
  buffer?: number;
  /** Events of a request; default 500, at most 10000. */
  batch?: number;
  /** How long an event waits for others; default 1 s. */
  intervalMs?: number;
  /** Is told of failures. */
  onError?: (error: RecoupError) => void;
}

/** What became of events: those emitted were dropped, delivered, or refused by the server, or wait. */
export interface EmitterStats {
  /** Calls of emit. */
  emitted: number;
  /** No room, not JSON, refused as a whole, or emitted after close. */
  dropped: number;
  /** The server has them. */
  delivered: number;
  /** The server did not want them. */
  refused: number;
  /** Requests that failed. */
  failures: number;
  /** In memory. */
  waiting: number;
}

/** Events could not be delivered in time. */
export class UndeliveredError extends Error {
  override readonly name = "UndeliveredError";
  constructor(readonly events: number, cause: unknown) {
    super(`${events} events are not delivered and wait in memory`, { cause });
  }
}

/** The longest line, and the largest request, in characters. */
const maxLine = 16 << 10;
const maxBatch = 1 << 20;

/** Lines that are sent together. Until they are done with, every request for them is the same. */
interface Batch {
  lines: string[];
  key: string;
  dropped: number;
}

interface Waiter {
  until: number;
  settle: (error?: UndeliveredError) => void;
}

/**
 * Sends events to the ledger in the background. What it does not deliver is counted, and the
 * server is told.
 */
export class Emitter {
  readonly #client: Client;
  readonly #o: Required<EmitterOptions>;
  readonly #stats = { emitted: 0, dropped: 0, delivered: 0, refused: 0, failures: 0 };
  readonly #waiters = new Set<Waiter>();
  readonly #end = new AbortController();
  #queue: LedgerEvent[] = [];
  #sending: Batch[] = [];
  #in = 0; // events taken, and done with
  #out = 0;
  #untold = 0; // drops of which the server does not know
  #running = false;
  #hurried = false;
  #closed = false;
  #wake: (() => void) | undefined; // ends the wait for more events, or for the next try

  constructor(client: Client, options: EmitterOptions = {}) {
    this.#client = client;
    this.#o = { buffer: 8192, batch: 500, intervalMs: 1000, ...options, onError: quietly(options.onError) };
    if (!client.service) throw new TypeError("recoup: an emitter needs the name of the service: set the option service of its client");
    if (!(this.#o.buffer >= 1) || !(this.#o.batch >= 1 && this.#o.batch <= 10_000) || !(this.#o.intervalMs >= 0)) {
      throw new TypeError("recoup: buffer, batch and interval must be positive, a batch at most 10000");
    }
  }

  /** What became of events so far. */
  get stats(): EmitterStats {
    return { ...this.#stats, waiting: this.#in - this.#out };
  }

  /**
   * Hands an event over. It never waits and never throws; if there is no room, the event is dropped
   * and counted. An event without a time happened now. Its details must not be changed
   * afterwards.
   */
  emit(event: LedgerEvent): void {
    this.#stats.emitted++;
    if (this.#closed || this.#in - this.#out >= this.#o.buffer) {
      this.#drop(1);
      return;
    }
    this.#queue.push(this.#client.complete(event));
    this.#in++;
    if (this.#queue.length >= this.#o.batch) this.#wake?.();
    this.#start();
  }

  /**
   * Resolves once everything that was emitted before is delivered. It rejects with an UndeliveredError
   * when the signal aborts, or when the server refuses in a way that waiting does not mend.
   */
  flush({ signal }: { signal?: AbortSignal } = {}): Promise<void> {
    if (this.#out >= this.#in) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        until: this.#in,
        settle: (error) => {
          this.#waiters.delete(waiter);
          signal?.removeEventListener("abort", abort);
          if (error) reject(error);
          else resolve();
        },
      };
      const abort = () => waiter.settle(new UndeliveredError(waiter.until - this.#out, signal?.reason));
      this.#waiters.add(waiter);
      if (signal?.aborted) return abort();
      signal?.addEventListener("abort", abort, { once: true });
      this.#hurried = true;
      this.#wake?.();
      this.#start();
    });
  }

  /** Takes no more events, delivers what it has until the signal aborts, and ends. What it could not deliver is lost. */
  async close(options: { signal?: AbortSignal } = {}): Promise<void> {
    this.#closed = true;
    try {
      await this.flush(options);
    } finally {
      this.#end.abort();
    }
  }

  #drop(n: number): void {
    this.#stats.dropped += n;
    this.#untold += n;
  }

  #start(): void {
    if (this.#running) return;
    this.#running = true;
    void this.#run();
  }

  /** Waits for enough events, and sends until there are none. */
  async #run(): Promise<void> {
    if (!this.#hurried && this.#queue.length < this.#o.batch) await this.#rest(this.#o.intervalMs, true);
    for (let failures = 0; this.#in > this.#out && !this.#end.signal.aborted; ) {
      this.#hurried = false;
      const batch = (this.#sending[0] ??= this.#take());
      const failure = batch.lines.length === 0 ? undefined : await this.#post(batch);
      if (failure && !this.#mend(batch, failure)) {
        await this.#wait(++failures, failure);
        continue;
      }
      failures = 0;
      if (!failure) this.#sending.shift();
      this.#settle();
    }
    this.#running = false; // at once: what is emitted from now on starts it again
  }

  /** Takes a batch out of the queue, as lines. What cannot be one is lost. */
  #take(): Batch {
    const batch: Batch = { lines: [], key: newId(this.#client.now()), dropped: 0 };
    let [n, size] = [0, 0];
    for (; n < this.#queue.length && batch.lines.length < this.#o.batch && size < maxBatch; n++) {
      const line = encode(this.#queue[n]!);
      if (line === undefined || line.length > maxLine) {
        this.#lose(1);
        continue;
      }
      batch.lines.push(line);
      size += line.length;
    }
    this.#queue = this.#queue.slice(n);
    if (batch.lines.length > 0) [batch.dropped, this.#untold] = [this.#untold, 0];
    return batch;
  }

  async #post(batch: Batch): Promise<RecoupError | undefined> {
    try {
      const answer = await this.#client.sendLines(batch.lines, {
        retry: false, idempotencyKey: batch.key, signal: this.#end.signal,
        ...(batch.dropped > 0 && { headers: { "X-Recoup-Dropped": String(batch.dropped) } }),
      });
      const refused = answer.refused_count ?? 0;
      this.#stats.refused += refused;
      this.#stats.delivered += batch.lines.length - refused;
      this.#out += batch.lines.length;
      return undefined;
    } catch (thrown) {
      return classify(thrown);
    }
  }

  /**
   * Changes a batch that the server will not take as it is: leaves out the line that the server named,
   * halves what is too large, gives up the rest. It is false if the batch is not what is wrong.
   */
  #mend(batch: Batch, failure: RecoupError): boolean {
    if (![400, 413, 415, 422].includes(failure.status)) return false;
    const bad = Number(failure.details.line ?? 0) - 1;
    const again = (lines: string[], dropped: number): Batch => ({ lines, dropped, key: newId(this.#client.now()) });
    let parts: Batch[] = [];
    if (bad >= 0 && bad < batch.lines.length && batch.lines.length > 1) {
      this.#lose(1);
      parts = [again(batch.lines.filter((_, i) => i !== bad), batch.dropped)];
    } else if (failure.status === 413 && batch.lines.length > 1) {
      const half = batch.lines.length >> 1;
      parts = [again(batch.lines.slice(0, half), batch.dropped), again(batch.lines.slice(half), 0)];
    } else {
      this.#lose(batch.lines.length);
      this.#untold += batch.dropped;
    }
    this.#sending.splice(0, 1, ...parts);
    this.#o.onError(failure);
    return true;
  }

  /** Counts events as dropped that had been taken. */
  #lose(n: number): void {
    this.#drop(n);
    this.#out += n;
  }

  /** Waits after a failure: a growing time, which a flush ends, or what the server asked for, which nothing does. */
  async #wait(failures: number, failure: RecoupError): Promise<void> {
    if (this.#end.signal.aborted) return;
    this.#stats.failures++;
    this.#o.onError(failure);
    const retryable = failure.isRetryable({ proven: ["idempotency_key"] });
    if (!retryable) this.#settle(failure);
    const asked = Math.min(failure.retryAfter * 1000, longestPauseMs);
    const own = retryable ? delay(pause, failures, this.#client.random) : pause.capMs;
    await this.#rest(Math.max(own, asked), asked === 0);
  }

  /** Waits, until it is woken if it may be. */
  async #rest(ms: number, wakeable: boolean): Promise<void> {
    if (wakeable && this.#hurried) return;
    const early = new AbortController();
    const end = () => early.abort();
    this.#end.signal.addEventListener("abort", end, { once: true });
    if (wakeable) this.#wake = end;
    await this.#client.sleep(ms, early.signal).catch(() => {}); // it was woken
    this.#wake = undefined;
    this.#end.signal.removeEventListener("abort", end);
  }

  /** Tells those who wait: that what they wait for is done with, or that it will not be. */
  #settle(trouble?: RecoupError): void {
    for (const waiter of [...this.#waiters]) {
      if (this.#out >= waiter.until) waiter.settle();
      else if (trouble) waiter.settle(new UndeliveredError(waiter.until - this.#out, trouble));
    }
  }
}

/** Whoever is told of failures must not cause one. */
export function quietly(tell: ((error: RecoupError) => void) | undefined): (error: RecoupError) => void {
  return (error) => {
    try {
      tell?.(error);
    } catch {
      // there is nobody else to tell
    }
  };
}

function encode(event: LedgerEvent): string | undefined {
  try {
    return JSON.stringify(event);
  } catch {
    return undefined;
  }
}
