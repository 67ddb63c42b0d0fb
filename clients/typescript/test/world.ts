import { Client, type ClientOptions, type Sleep } from "recoup";

/** Lets everything happen that needs no time to pass. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** A clock that moves when a test says so. */
export class FakeClock {
  #now = Date.parse("2026-02-05T12:00:00Z");
  readonly #timers = new Set<{ at: number; ring: () => void }>();
  /** What was waited for, in order, in milliseconds. */
  readonly slept: number[] = [];

  readonly now = (): number => this.#now;

  readonly sleep: Sleep = (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      this.slept.push(ms);
      const timer = { at: this.#now + ms, ring: resolve };
      this.#timers.add(timer);
      signal?.addEventListener("abort", () => this.#timers.delete(timer) && reject(signal.reason), { once: true });
    });

  /** Moves the clock, timer by timer. */
  async advance(ms: number): Promise<void> {
    const until = this.#now + ms;
    for (await settle(); ; await settle()) {
      const [next] = [...this.#timers].filter((t) => t.at <= until).sort((a, b) => a.at - b.at);
      if (!next) break;
      this.#now = Math.max(this.#now, next.at);
      this.#timers.delete(next);
      next.ring();
    }
    this.#now = until;
  }
}

/** A request as the server sees it. */
export interface Seen {
  method: string;
  path: string;
  headers: Headers;
  text: string;
  body: any;
  signal: AbortSignal;
}

/** A server that answers as a test says, and remembers what it was asked. */
export class FakeServer {
  readonly seen: Seen[] = [];
  answer: (request: Seen) => unknown;

  constructor(answer: (request: Seen) => unknown) {
    this.answer = answer;
  }

  readonly fetch: typeof fetch = async (url, init) => {
    const text = String(init?.body ?? "");
    const request: Seen = {
      method: init?.method ?? "GET", path: String(url).replace("http://recoup.test", ""), headers: new Headers(init?.headers), text,
      body: text.startsWith("{") && !text.includes("\n") ? JSON.parse(text) : undefined, signal: init!.signal!,
    };
    this.seen.push(request);
    const answer = await this.answer(request);
    return answer instanceof Response ? answer : Response.json(answer);
  };

  client(options: Partial<ClientOptions> = {}): Client {
    return new Client({ server: "http://recoup.test", key: "rdb_test", service: "tests", fetch: this.fetch, random: () => 0, ...options });
  }
}

/** An answer of the contract's shape. */
export function failure(status: number, error_code: string, more: { headers?: Record<string, string>; details?: object; retry_after?: number } = {}): Response {
  const { headers, ...members } = more;
  return Response.json({ error_code, message: `It is ${error_code}.`, request_id: "req_1", ...members }, { status, ...(headers && { headers }) });
}

/** Never answers, until the caller gives up. */
export function hang(request: Seen): Promise<never> {
  return new Promise((_, reject) => request.signal.addEventListener("abort", () => reject(request.signal.reason), { once: true }));
}

/** Fails as fetch of Node does when there is no connection. */
export function broken(code: string): never {
  throw new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
}
