import assert from "node:assert/strict";
import { test } from "node:test";
import { Emitter, RecoupError, UndeliveredError, type EmitterOptions } from "recoup";
import { broken, failure, FakeClock, FakeServer, settle, type Seen } from "./world.js";

const lines = (r: Seen | undefined) => (r?.text ?? "").trim().split("\n").map((line) => JSON.parse(line));
const accepted = (r: Seen) => ({ accepted: lines(r).length, durable: true });

function world(answer: (r: Seen) => unknown, options: EmitterOptions = {}) {
  const clock = new FakeClock();
  const server = new FakeServer(answer);
  const emitter = new Emitter(server.client({ now: clock.now, sleep: clock.sleep }), options);
  const emit = (n: number) => {
    for (let i = 0; i < n; i++) emitter.emit({ code: "NETWORK_TIMEOUT" });
  };
  return { clock, server, emitter, emit };
}

test("events wait for others, and are sent together", async () => {
  const { clock, server, emitter, emit } = world(accepted, { batch: 3 });
  emit(2);
  await clock.advance(999);
  assert.equal(server.seen.length, 0);
  await clock.advance(1);
  assert.deepEqual(server.seen.map((r) => lines(r).length), [2]);
  emit(7); // a full batch does not wait
  await settle();
  assert.deepEqual(server.seen.map((r) => lines(r).length), [2, 3, 3, 1]);
  assert.deepEqual(emitter.stats, { emitted: 9, dropped: 0, delivered: 9, refused: 0, failures: 0, waiting: 0 });
  assert.equal(server.seen[0]?.headers.get("X-Recoup-Dropped"), null);
});

test("a full buffer drops and counts, and the server is told once", async () => {
  const { server, emitter, emit } = world(accepted, { buffer: 5 });
  emit(12);
  assert.deepEqual([emitter.stats.dropped, emitter.stats.waiting], [7, 5]);
  await emitter.flush();
  emit(1);
  await emitter.close();
  emit(1);
  assert.deepEqual(server.seen.map((r) => r.headers.get("X-Recoup-Dropped")), ["7", null]);
  assert.deepEqual(emitter.stats, { emitted: 14, dropped: 8, delivered: 6, refused: 0, failures: 0, waiting: 0 });
});

test("a batch that failed is sent again as it was, after growing waits, which a flush ends", async () => {
  let down = true;
  const { clock, server, emitter, emit } = world((r) => down ? broken("ECONNREFUSED") : accepted(r));
  emit(2);
  await clock.advance(1000 + 1000 + 2000);
  assert.deepEqual([server.seen.length, emitter.stats.failures], [3, 3]);
  down = false;
  await emitter.flush();
  const [first, last] = [server.seen[0], server.seen.at(-1)];
  assert.equal(last?.text, first?.text);
  assert.equal(last?.headers.get("Idempotency-Key"), first?.headers.get("Idempotency-Key"));
  assert.equal(emitter.stats.delivered, 2);
});

test("what the server asked for is waited for, also by a flush", async () => {
  let busy = true;
  const { clock, server, emitter, emit } = world((r) => busy ? failure(429, "RATE_LIMIT_EXCEEDED", { retry_after: 100 }) : accepted(r));
  emit(1);
  const flushed = emitter.flush();
  await settle();
  busy = false;
  const again = emitter.flush();
  await clock.advance(99_999);
  assert.equal(server.seen.length, 1);
  await clock.advance(1);
  await Promise.all([flushed, again]);
  assert.equal(server.seen.length, 2);
});

test("a refusal that waiting does not mend ends a flush, and events wait on", async () => {
  let key = "";
  const told: RecoupError[] = [];
  const { clock, emitter, emit } = world((r) => key === "good" ? accepted(r) : failure(401, "API_KEY_EXPIRED"), { onError: (e) => { told.push(e); throw e; } });
  emit(3);
  await assert.rejects(emitter.flush(), (e) => e instanceof UndeliveredError && e.events === 3 && e.cause === told[0]);
  assert.equal(told[0]?.code, "API_KEY_EXPIRED");
  key = "good";
  await clock.advance(60_000);
  assert.equal(emitter.stats.delivered, 3);
});

test("a batch that the server does not take as it is becomes one that it does", async () => {
  const { server, emitter, emit } = world((r) => {
    const all = lines(r);
    const bad = all.findIndex((e) => e.endpoint === "bad");
    if (all.length > 4) return failure(413, "PAYLOAD_TOO_LARGE");
    return bad < 0 ? accepted(r) : failure(400, "VALIDATION_ERROR", { details: { line: bad + 1 } });
  });
  emit(3);
  emitter.emit({ code: "X", endpoint: "bad" });
  emit(3);
  await emitter.flush();
  assert.deepEqual(server.seen.map((r) => lines(r).length), [7, 3, 4, 3]);
  assert.equal(new Set(server.seen.map((r) => r.headers.get("Idempotency-Key"))).size, 4);
  assert.deepEqual([emitter.stats.delivered, emitter.stats.dropped, emitter.stats.waiting], [6, 1, 0]);
  emitter.emit({ code: "X", endpoint: "bad" });
  await emitter.flush();
  emitter.emit({ code: "X", details: { big: 1n } }); // no JSON
  emitter.emit({ code: "X", endpoint: "x".repeat(20_000) });
  await emitter.flush();
  assert.deepEqual([emitter.stats.delivered, emitter.stats.dropped, emitter.stats.waiting], [6, 4, 0]);
  emit(1);
  await emitter.flush();
  assert.equal(server.seen.at(-1)?.headers.get("X-Recoup-Dropped"), "4");
});

test("refused events are counted", async () => {
  const { emitter, emit } = world(() => ({ accepted: 1, refused_count: 2, durable: true }));
  emit(3);
  await emitter.close();
  assert.deepEqual([emitter.stats.delivered, emitter.stats.refused], [1, 2]);
});

test("who gives up is told how many events are not delivered", async () => {
  const { emitter, emit } = world(() => broken("ECONNREFUSED"));
  emit(4);
  const late = new AbortController();
  const closed = emitter.close({ signal: late.signal });
  await settle();
  late.abort();
  await assert.rejects(closed, (e) => e instanceof UndeliveredError && e.events === 4);
  assert.equal(emitter.stats.waiting, 4);
});

test("an emitter needs the name of its service", () => {
  const server = new FakeServer(() => ({}));
  assert.throws(() => new Emitter(server.client({ service: "" })), /service/);
  assert.throws(() => new Emitter(server.client(), { batch: 20_000 }), /10000/);
});
