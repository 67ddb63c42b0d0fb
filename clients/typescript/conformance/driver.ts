/**
 * Does the client's steps of the scenarios in /conformance: one JSON object a line comes in, how it ended
 * goes out. Before that, a line {"wait": ms} goes out for every pause that the client makes between
 * attempts, which lasts until {"do": "go_on"} comes in.
 */
import { createInterface } from "node:readline";
import {
  Client, Emitter, LeaseLostError, RecoupError, UndeliveredError, Worker,
  type ClientOptions, type EmitterOptions, type GovernedError, type LedgerEvent, type Promotion, type Report,
} from "recoup";

interface Step {
  do: string;
  with?: unknown;
  entity?: string;
  idempotency_key?: string;
  count?: number;
  within_ms?: number;
}

interface WorkerSettings {
  name: string;
  concurrency?: number;
  lease_seconds?: number;
  handler: "succeed" | "until_aborted";
}

const say = (line: object) => process.stdout.write(JSON.stringify(line) + "\n");

class Driver {
  readonly #calls: Client; // whose waits the scenario sees
  readonly #background: Client; // of the emitter and the worker
  readonly #happened: object[] = [];
  #awaiting: ((event: object) => void) | undefined;
  #emitter: Emitter | undefined;
  #stop: () => Promise<void> = async () => {};
  goOn: () => void = () => {};

  constructor(settings: { server: string; key: string; timeout_ms?: number }) {
    const options: ClientOptions = {
      server: settings.server, key: settings.key, service: "conformance",
      ...(settings.timeout_ms && { timeoutMs: settings.timeout_ms }),
    };
    this.#background = new Client(options);
    this.#calls = new Client({
      ...options,
      sleep: (ms) => new Promise((resolve) => {
        this.goOn = resolve;
        say({ wait: ms });
      }),
    });
  }

  async do(step: Step): Promise<object> {
    const options = step.idempotency_key ? { idempotencyKey: step.idempotency_key } : {};
    switch (step.do) {
      case "report": return this.#calls.report(step.with as Report, options);
      case "promote": return this.#calls.promote(step.with as Promotion, options);
      case "gate": return this.#calls.gate(step.entity ?? "", options);
      case "emitter": this.#emitter = this.#newEmitter(step.with as Record<string, number>); return {};
      case "emit": for (let i = 0; i < (step.count ?? 1); i++) this.#emitter!.emit(step.with as LedgerEvent); return {};
      case "stats": return this.#emitter!.stats;
      case "flush": await this.#emitter!.flush(step.within_ms ? { signal: AbortSignal.timeout(step.within_ms) } : {}); return {};
      case "work": this.#work(step.with as WorkerSettings); return {};
      case "await": return this.#happened.shift() ?? new Promise((resolve) => (this.#awaiting = resolve));
      case "stop": await this.#stop(); return {};
    }
    throw new Error(`there is no step ${step.do}`);
  }

  #newEmitter({ buffer, batch, interval_ms }: Record<string, number>): Emitter {
    const options: EmitterOptions = { ...(buffer && { buffer }), ...(batch && { batch }), ...(interval_ms && { intervalMs: interval_ms }) };
    return new Emitter(this.#background, options);
  }

  #work(o: WorkerSettings): void {
    const worker = new Worker(this.#background, {
      name: o.name, graceMs: 1000, ...(o.concurrency && { concurrency: o.concurrency }), ...(o.lease_seconds && { leaseSeconds: o.lease_seconds }),
      handler: (error, signal) => o.handler === "succeed" ? this.#tell({ event: "ended", error_id: error.error_id }) : this.#untilAborted(error, signal),
    });
    const stop = new AbortController();
    const run = worker.run(stop.signal);
    run.catch(() => {}); // the step "stop" says
    this.#stop = () => {
      stop.abort();
      return run;
    };
  }

  async #untilAborted({ error_id }: GovernedError, signal: AbortSignal): Promise<void> {
    this.#tell({ event: "began", error_id });
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    this.#tell({ event: "ended", error_id, aborted: signal.reason instanceof LeaseLostError ? "lease_lost" : "stopped" });
    throw signal.reason;
  }

  #tell(event: object): void {
    const awaiting = this.#awaiting;
    this.#awaiting = undefined;
    if (awaiting) awaiting(event);
    else this.#happened.push(event);
  }
}

function failed(thrown: unknown): object {
  if (thrown instanceof UndeliveredError) return { undelivered: thrown.events };
  if (!(thrown instanceof RecoupError)) return { error: String(thrown) };
  return { error: { code: thrown.code, status: thrown.status, retry_after: thrown.retryAfter, retryable: thrown.retryable } };
}

const driver = new Driver(JSON.parse(process.argv[2] ?? "{}"));
for await (const line of createInterface({ input: process.stdin })) {
  const step = JSON.parse(line) as Step;
  if (step.do === "go_on") driver.goOn();
  else void driver.do(step).then((answer) => say({ answer }), (thrown: unknown) => say(failed(thrown)));
}
process.exit(0);
