import { keyed } from "./api_gen.js";
import { newId, sleep, type Sleep } from "./clock.js";
import { RecoupError } from "./error.js";
import { decode, ofItem, readText } from "./response.js";
import { retry, type Attempt } from "./retry.js";
import type { Answer, Claim, EventsAccepted, Gate, GovernedError, Input, LedgerEvent, Operation, Promoted, Promotion, Report, Reported, Result } from "./types.js";

/** What a Client is made of. The server is required; all else has a default. */
export interface ClientOptions {
  /** Where the server is: "https://recoup.example.com". */
  server: string;
  /** An API key; none is needed where the server asks for none. */
  key?: string | undefined;
  /** Put on reports and events that name none. */
  service?: string;
  region?: string;
  /** Of one attempt, the wait of a long poll not included; default 30 s. */
  timeoutMs?: number;
  /** The most bytes of an answer; default 16 MiB. */
  maxAnswerBytes?: number;
  /** Is told of every attempt of a call, also of those that are repeated. */
  observe?: (attempt: Attempt) => void;

  fetch?: typeof fetch;
  /** Milliseconds since 1970; default Date.now. */
  now?: () => number;
  sleep?: Sleep;
  /** A number in [0, 1) for jitter; default Math.random. */
  random?: () => number;
}

/** Changes one call. */
export interface CallOptions {
  signal?: AbortSignal | undefined;
  /**
   * Makes the server recognise a call that a program makes again, even after a restart: the same
   * key with the same content is answered as it was the first time. Without it, a call recognises
   * only its own retries.
   */
  idempotencyKey?: string;
  /** The id under which the server logs the call; default: one of its own. */
  requestId?: string;
  /** false: the first failure is thrown. */
  retry?: boolean;
  /** true: the call comes to the same however often it is sent. Default: what the API says of the operation. */
  idempotent?: boolean;
  headers?: Record<string, string>;
}

/** Beside what callers may say of a call: a body that is no JSON, and how long the server may wait. */
interface Internal {
  ndjson?: string;
  waitMs?: number;
}

/** Talks to a Recoup server. Every error that a call throws is a RecoupError. */
export class Client {
  readonly service: string | undefined;
  readonly region: string | undefined;
  readonly now: () => number;
  readonly sleep: Sleep;
  readonly random: () => number;
  readonly #o: ClientOptions;
  readonly #base: string;

  /** Checks the options. It makes no request. */
  constructor(options: ClientOptions) {
    this.#o = options;
    this.#base = checkServer(options);
    this.service = options.service;
    this.region = options.region;
    this.now = options.now ?? Date.now;
    this.sleep = options.sleep ?? sleep;
    this.random = options.random ?? Math.random;
  }

  /** Records a failure: what cannot go on, and why. The answer says what is going to happen to it. */
  report(report: Report, options?: CallOptions): Promise<Reported> {
    return this.call("POST /v1/errors", { body: { service: this.service, region: this.region, ...report } }, options);
  }

  /** Says whether an entity may go on. A gate that cannot be asked is not open: then it throws. */
  gate(entity: string, options?: CallOptions): Promise<Gate> {
    return this.call("GET /v1/promotion/{entity}", { path: { entity } }, options);
  }

  /**
   * Moves an entity to its next phase, unless something blocks it: then the error is PROMOTION_BLOCKED,
   * whose details say what a Gate says. Check and record are one transaction.
   */
  promote(promotion: Promotion, options?: CallOptions): Promise<Promoted> {
    return this.call("POST /v1/promotions", { body: promotion }, options);
  }

  /** Leases errors that are due to be retried, and waits for some if it is asked to. A Worker does all of this by itself. */
  async claim(claim: Claim, options?: CallOptions): Promise<GovernedError[]> {
    const waitMs = (claim.wait_seconds ?? 0) * 1000;
    const answer = await this.#call("POST /v1/retries/claim", { body: claim }, { idempotent: true, ...options }, { waitMs });
    return answer.errors ?? [];
  }

  /**
   * Sends the results of many attempts, at most 1000. Each is answered for itself, in their order:
   * undefined if it was taken, else why not.
   */
  async results(results: Result[], options?: CallOptions): Promise<Array<RecoupError | undefined>> {
    const headers = { Prefer: "return=minimal", ...options?.headers };
    const answer = await this.call("POST /v1/retries/results", { body: { results } }, { idempotent: true, ...options, headers });
    const items = answer.items ?? [];
    if (items.length !== results.length) {
      throw new RecoupError({ error_code: "SCHEMA_INVALID", message: `The server answered ${items.length} of ${results.length} results.` });
    }
    return items.map((item) => (item.result ? undefined : ofItem(item.failure)));
  }

  /**
   * Adds events to the ledger and returns once they are durable. Events without an id or a time get
   * one, so that a repeated request adds nothing twice. An Emitter does this in the background.
   */
  sendEvents(events: readonly LedgerEvent[], options?: CallOptions): Promise<EventsAccepted> {
    return this.sendLines(events.map((e) => JSON.stringify(this.complete(e))), options);
  }

  /** Gives an event what makes it the same event whenever it is sent. */
  complete(event: LedgerEvent): LedgerEvent {
    const ts = event.ts ?? new Date(this.now()).toISOString();
    return { service: this.service, region: this.region, ...event, ts, event_id: event.event_id ?? newId(Date.parse(ts)) };
  }

  /** Adds events that are JSON already, one a line. */
  sendLines(lines: readonly string[], options: CallOptions = {}): Promise<EventsAccepted> {
    const headers = { Prefer: "respond-sync", ...options.headers };
    const input = { body: [] }; // which the lines replace
    return this.#call("POST /v1/events", input, { idempotent: true, ...options, headers }, { ndjson: lines.map((line) => line + "\n").join("") });
  }

  /** Makes any call of the API: client.call("GET /v1/errors/{id}", { path: { id } }). */
  call<K extends Operation>(operation: K, input: Input<K>, options: CallOptions = {}): Promise<Answer<K>> {
    return this.#call(operation, input, options, {});
  }

  async #call<K extends Operation>(operation: K, input: Input<K>, options: CallOptions, internal: Internal): Promise<Answer<K>> {
    const [method = "", path = ""] = operation.split(" ");
    const { path: inPath, query, body } = input as { path?: object; query?: object; body?: unknown };
    const url = this.#base + fill(path, inPath) + queryOf(query);
    const now = this.now();
    const key = options.idempotencyKey ?? (keyed.has(operation) && options.idempotent !== true ? newId(now) : undefined);
    const headers: Record<string, string> = {
      Accept: "application/json", "X-Request-Id": options.requestId ?? newId(now),
      ...(body !== undefined && { "Content-Type": internal.ndjson === undefined ? "application/json" : "application/x-ndjson" }),
      ...(key && { "Idempotency-Key": key }),
      ...(this.#o.key && { Authorization: `Bearer ${this.#o.key}` }),
      ...options.headers,
    };
    const request: RequestInit = { method, headers, redirect: "manual", ...(body !== undefined && { body: internal.ndjson ?? JSON.stringify(body) }) };
    const timeoutMs = (this.#o.timeoutMs ?? 30_000) + (internal.waitMs ?? 0);
    const harmless = options.idempotent ?? (method !== "POST" || key !== undefined);
    return retry(() => this.#attempt<Answer<K>>(url, request, timeoutMs, options.signal), {
      signal: options.signal, sleep: this.sleep, random: this.random, observe: this.#o.observe,
      ...(harmless ? { proven: ["idempotency_key"] } : { idempotent: false }),
      ...(options.retry === false && { policy: () => ({ retries: 0, baseMs: 0, capMs: Infinity, multiplier: 1, jitter: "additive" }) }),
    });
  }

  /** Sends a request once. The signal of the caller and the time-out hold until the answer is read. */
  async #attempt<T>(url: string, request: RequestInit, timeoutMs: number, signal: AbortSignal | undefined): Promise<T> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(new DOMException("The server did not answer in time.", "TimeoutError")), timeoutMs);
    const cancel = () => controller.abort(new DOMException("The caller gave up.", "AbortError"));
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      const answer = await (this.#o.fetch ?? fetch)(url, { ...request, signal: controller.signal });
      const failure = await decode(answer);
      if (failure) throw failure;
      if (answer.type === "opaqueredirect" || answer.status >= 300) {
        throw new RecoupError({ error_code: "CONFIGURATION_ERROR", message: "The server redirects, which is not followed: check its address." });
      }
      const text = await readText(answer, this.#o.maxAnswerBytes ?? 16 << 20);
      return (text === "" ? {} : parse(text)) as T;
    } catch (thrown) {
      throw controller.signal.aborted ? controller.signal.reason : thrown;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", cancel);
    }
  }
}

function checkServer({ server, key = "" }: ClientOptions): string {
  const url = URL.canParse(server) ? new URL(server) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new TypeError(`recoup: the server is ${JSON.stringify(server)}: expected an address such as https://recoup.example.com`);
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new TypeError("recoup: the server's address must have no user, query or fragment; a key belongs into the option key");
  }
  if (!/^[!-~]*$/.test(key)) throw new TypeError("recoup: the key has characters that no key has; is there a line break behind it?");
  return server.replace(/\/+$/, "");
}

function fill(path: string, values: object = {}): string {
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String((values as Record<string, unknown>)[name] ?? "");
    if (value === "") throw new RecoupError({ error_code: "VALIDATION_ERROR", message: `${name} is missing: the path ${path} needs it.`, details: { field: name } });
    return encodeURIComponent(value);
  });
}

function queryOf(query: object = {}): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null) q.append(name, String(value));
  }
  return q.size === 0 ? "" : `?${q}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new RecoupError({ error_code: "SCHEMA_INVALID", message: "The answer of the server cannot be read." }, { cause });
  }
}
