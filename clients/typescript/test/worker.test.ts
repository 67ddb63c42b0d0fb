import assert from "node:assert/strict";
import { test } from "node:test";
import { LeaseLostError, RecoupError, StoppedError, Worker, type GovernedError, type WorkerOptions } from "recoup";
import { broken, failure, FakeClock, FakeServer, hang, settle, type Seen } from "./world.js";

/** A server with errors that are due, whose leases last 30 seconds. */
function world(options: Partial<WorkerOptions> & Pick<WorkerOptions, "handler">) {
  const clock = new FakeClock();
  const due: string[] = [];
  const results: any[] = [];
  const faults = { claim: undefined as (() => unknown) | undefined, results: undefined as ((r: Seen) => unknown) | undefined };
  const server = new FakeServer((r) => {
    if (r.path === "/v1/retries/claim") {
      if (faults.claim) return faults.claim();
      const claimed = due.splice(0, r.body.limit);
      return claimed.length === 0 && r.body.wait_seconds ? hang(r) : { errors: claimed.map((id) => leased(id, clock.now())) };
    }
    const fault = faults.results?.(r);
    if (fault) return fault;
    results.push(...r.body.results);
    return { items: r.body.results.map((result: any) => gone.has(result.error_id) ? { failure: { error_code: "LEASE_LOST", message: "Lost." } } : { result: {} }) };
  });
  const gone = new Set<string>();
  const errors: RecoupError[] = [];
  const stop = new AbortController();
  const worker = new Worker(server.client({ now: clock.now, sleep: clock.sleep }), { name: "w", onError: (e) => errors.push(e), ...options });
  return { clock, server, due, results, faults, gone, errors, stop, run: () => worker.run(stop.signal) };
}

function leased(id: string, now: number): Partial<GovernedError> {
  return { error_id: id, lease_token: `token-${id}`, leased_at: new Date(now).toISOString(), lease_ends_at: new Date(now + 30_000).toISOString() };
}

/** Works until its signal aborts, and throws why. */
const untilAborted = (_: GovernedError, signal: AbortSignal) =>
  new Promise<void>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

test("errors that are due are worked on, as many as there are slots, and results go together", async () => {
  const release: Array<() => void> = [];
  const w = world({ concurrency: 2, tables: ["t"], leaseSeconds: 30, handler: () => new Promise((resolve) => release.push(resolve)) });
  w.due.push("a", "b", "c");
  const run = w.run();
  await settle();
  assert.equal(release.length, 2);
  release.forEach((r) => r());
  await settle();
  assert.equal(release.length, 3);
  release[2]!();
  await settle();
  w.stop.abort();
  await run;
  assert.deepEqual(w.results.map((r) => [r.error_id, r.lease_token, r.outcome]), [["a", "token-a", "succeed"], ["b", "token-b", "succeed"], ["c", "token-c", "succeed"]]);
  const requests = w.server.seen.filter((r) => r.path === "/v1/retries/results");
  assert.deepEqual(requests.map((r) => r.body.results.length), [2, 1]);
  const claims = w.server.seen.filter((r) => r.path === "/v1/retries/claim").map((r) => r.body);
  assert.deepEqual(claims[0], { worker: "w", limit: 2, tables: ["t"], lease_seconds: 30 });
  assert.equal(claims.at(-1).wait_seconds, 20);
});

test("what a handler throws is classified", async () => {
  const thrown: Record<string, unknown> = {
    a: new RecoupError({ error_code: "RATE_LIMIT_EXCEEDED", message: "Slow down.", retry_after: 30 }),
    b: new TypeError("x is not a function"),
    c: new Error("€".repeat(400)),
  };
  const w = world({ proven: ["idempotency_key"], handler: async (e) => { throw thrown[e.error_id]; } });
  w.due.push("a", "b", "c");
  const run = w.run();
  await settle();
  w.stop.abort();
  await run;
  assert.deepEqual(w.results.map((r) => [r.outcome, r.code, r.retry_after, r.proven]), [
    ["fail", "RATE_LIMIT_EXCEEDED", 30, ["idempotency_key"]], ["fail", "RUNTIME_BUG", undefined, ["idempotency_key"]], ["fail", "INTERNAL_ERROR", undefined, ["idempotency_key"]],
  ]);
  assert.equal(w.results[0].reason, "Slow down.");
  assert.equal(w.results[2].reason, "€".repeat(333));
});

test("a lease is extended while the handler runs, every third of it", async () => {
  let release = () => {};
  const w = world({ handler: () => new Promise((resolve) => (release = resolve)) });
  w.due.push("a");
  const run = w.run();
  await w.clock.advance(95_000);
  assert.deepEqual(w.results.map((r) => [r.outcome, r.lease_seconds]), Array(9).fill(["extend", 30]));
  release();
  await settle();
  w.stop.abort();
  await run;
  await w.clock.advance(60_000);
  assert.equal(w.results.at(-1).outcome, "succeed");
  assert.equal(w.results.length, 10);
});

test("a lease that the server refuses to extend is lost, and the handler's word no longer counts", async () => {
  const w = world({ handler: untilAborted });
  w.due.push("a");
  const run = w.run();
  await w.clock.advance(10_000);
  w.gone.add("a");
  await w.clock.advance(10_000);
  w.stop.abort();
  await run;
  assert.deepEqual(w.results.map((r) => r.outcome), ["extend", "extend"]);
  assert.deepEqual(w.errors.map((e) => e.code), ["LEASE_LOST"]);
});

test("a lease that nobody confirms is lost when it ends, not later", async () => {
  const lost = new Array<unknown>();
  const w = world({ handler: (e, signal) => untilAborted(e, signal).catch((reason) => { lost.push(reason); throw reason; }) });
  w.faults.results = () => broken("ECONNRESET");
  w.due.push("a");
  const run = w.run();
  await w.clock.advance(29_999);
  assert.equal(lost.length, 0);
  await w.clock.advance(1);
  assert.ok(lost[0] instanceof LeaseLostError);
  w.faults.results = undefined;
  w.stop.abort();
  await run;
  assert.deepEqual(w.results, []);
});

test("a request that hangs does not cost more than the lease", async () => {
  const w = world({ handler: untilAborted });
  w.faults.results = hang;
  w.due.push("a");
  const run = w.run();
  await w.clock.advance(30_000);
  assert.deepEqual(w.errors.map((e) => e.code), ["LEASE_LOST"]);
  w.stop.abort();
  await run;
});

test("work that is done although its lease was lost is told, and the server decides", async () => {
  const w = world({ handler: (_, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true })) });
  w.gone.add("a");
  w.due.push("a");
  const run = w.run();
  await w.clock.advance(10_000);
  w.stop.abort();
  await run;
  assert.deepEqual(w.results.map((r) => r.outcome), ["extend", "succeed"]);
});

test("a result is sent until the server has it", async () => {
  const w = world({ handler: () => {} });
  w.faults.results = () => failure(503, "TEMPORARY_UNAVAILABLE");
  w.due.push("a");
  const run = w.run();
  await w.clock.advance(3000);
  w.faults.results = undefined;
  await w.clock.advance(4000);
  w.stop.abort();
  await run;
  assert.deepEqual(w.results.map((r) => r.outcome), ["succeed"]);
});

test("claims that fail are repeated after a wait, unless the server refuses for good", async () => {
  const w = world({ handler: () => {} });
  w.faults.claim = () => failure(429, "RATE_LIMIT_EXCEEDED", { retry_after: 7 });
  const run = w.run();
  await w.clock.advance(6999);
  assert.equal(w.server.seen.length, 1);
  w.faults.claim = () => broken("ECONNREFUSED");
  await w.clock.advance(1);
  assert.deepEqual([w.server.seen.length, w.clock.slept.at(-1)], [2, 2000]);
  w.faults.claim = () => failure(403, "INSUFFICIENT_PERMISSIONS");
  const ended = assert.rejects(run, { code: "INSUFFICIENT_PERMISSIONS" });
  await w.clock.advance(2000);
  await ended;
});

test("a stop waits for handlers, then breaks them off, then leaves them behind", async () => {
  const patient = world({ graceMs: 1000, handler: untilAborted });
  patient.due.push("a");
  const run = patient.run();
  await settle();
  patient.stop.abort();
  await patient.clock.advance(1000);
  await run;
  assert.deepEqual(patient.results.map((r) => [r.outcome, r.code]), [["fail", "WORKER_LOST"]]);

  let reason: unknown;
  const deaf = world({ graceMs: 1000, handler: (_, signal) => new Promise(() => signal.addEventListener("abort", () => (reason = signal.reason), { once: true })) });
  deaf.due.push("a", "b");
  const left = assert.rejects(deaf.run(), { code: "WORKER_LOST", message: /^2 handlers/ });
  await settle();
  deaf.stop.abort();
  await deaf.clock.advance(6000);
  await left;
  assert.ok(reason instanceof StoppedError);
});

test("options that cannot be meant are refused", () => {
  const client = new FakeServer(() => ({})).client();
  assert.throws(() => new Worker(client, { name: "", handler: () => {} }), /name/);
  assert.throws(() => new Worker(client, { name: "w", handler: () => {}, concurrency: 0 }), /1 to 1000/);
  assert.throws(() => new Worker(client, { name: "w", handler: () => {}, pollSeconds: 61 }), /0 to 60/);
});
