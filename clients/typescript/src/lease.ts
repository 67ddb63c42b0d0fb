import type { Client } from "./client.js";
import type { RecoupError } from "./error.js";
import type { ResultSender } from "./result_sender.js";
import type { GovernedError } from "./types.js";

/** Why a handler's signal aborts: the error is no longer this worker's, and another may be at it already. */
export class LeaseLostError extends Error {
  override readonly name = "LeaseLostError";
  constructor(cause?: unknown) {
    super("the lease is lost", { cause });
  }
}

/** A lease on an error that is worked on. How long it lasts comes from the server's clock, when it is over from this one's. */
export class Lease {
  readonly #lastsMs: number;
  #endsAt: number;

  constructor(readonly of: GovernedError, receivedAt: number) {
    this.#lastsMs = Date.parse(of.lease_ends_at ?? "") - Date.parse(of.leased_at ?? "");
    this.#endsAt = receivedAt + this.#lastsMs;
  }

  /**
   * Extends the lease until the signal aborts. It resolves then, or with why the lease is lost: the server
   * says so, or nobody has confirmed it for as long as it lasts.
   */
  async keep(client: Client, sender: ResultSender, signal: AbortSignal): Promise<RecoupError | "expired" | undefined> {
    for (let waitMs = this.#lastsMs / 3; this.#lastsMs > 0; ) {
      await client.sleep(waitMs, signal).catch(() => {}); // the work is done
      if (signal.aborted) return undefined;
      const asked = client.now();
      const verdict = await this.#within(client, this.#endsAt - asked, signal, sender.send({
        error_id: this.of.error_id, lease_token: this.of.lease_token ?? "", outcome: "extend", lease_seconds: Math.ceil(this.#lastsMs / 1000),
      }));
      if (signal.aborted) return undefined;
      const left = this.#endsAt - client.now();
      if (verdict && !verdict.error) {
        this.#endsAt = asked + this.#lastsMs;
        waitMs = this.#lastsMs / 3;
      } else if (verdict?.decided || left <= 0) {
        return verdict?.error ?? "expired";
      } else {
        waitMs = Math.min(this.#lastsMs / 12, left);
      }
    }
    return undefined;
  }

  /** Waits for an answer as long as the lease is still held; undefined: there is none by then. */
  async #within<T>(client: Client, ms: number, signal: AbortSignal, answer: Promise<T>): Promise<T | undefined> {
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener("abort", end, { once: true });
    try {
      return await Promise.race([answer, client.sleep(ms, over.signal).then(() => undefined, () => undefined)]);
    } finally {
      signal.removeEventListener("abort", end);
      over.abort();
    }
  }
}
