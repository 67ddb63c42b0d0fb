import type { Client } from "./client.js";
import { classify, type RecoupError } from "./error.js";
import type { Result } from "./types.js";

/** What the server says of a result: nothing if it took it. Its refusal is final, or the request came to nothing. */
export interface Verdict {
  error?: RecoupError;
  /** The server has decided about this result: it need not be sent again. */
  decided: boolean;
}

interface Pending {
  result: Result;
  answer: (verdict: Verdict) => void;
}

/** The most results of a request, and the most requests under way: so that one that hangs does not cost every lease. */
const maxResults = 1000;
const maxRequests = 2;

/** Sends results of many handlers, as many at once as have gathered while it was busy. */
export class ResultSender {
  readonly #client: Client;
  readonly #end: AbortSignal;
  readonly #pending: Pending[] = [];
  #requests = 0;

  constructor(client: Client, end: AbortSignal) {
    this.#client = client;
    this.#end = end;
  }

  /** Hands in a result and waits for what the server says of it. It never rejects. */
  send(result: Result): Promise<Verdict> {
    return new Promise((answer) => {
      this.#pending.push({ result, answer });
      queueMicrotask(() => void this.#deliver()); // after the others of this turn
    });
  }

  async #deliver(): Promise<void> {
    if (this.#requests >= maxRequests || this.#pending.length === 0) return;
    const batch = this.#pending.splice(0, maxResults);
    this.#requests++;
    const verdicts = await this.#ask(batch);
    this.#requests--;
    batch.forEach((p, i) => p.answer(verdicts[i]!));
    void this.#deliver();
  }

  async #ask(batch: Pending[]): Promise<Verdict[]> {
    try {
      const answers = await this.#client.results(batch.map((p) => p.result), { retry: false, signal: this.#end });
      return answers.map((error) => (error ? { error, decided: !error.isRetryable({ proven: ["idempotency_key"] }) } : { decided: true }));
    } catch (thrown) {
      const error = classify(thrown);
      return batch.map(() => ({ error, decided: false }));
    }
  }
}
