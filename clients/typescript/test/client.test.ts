import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, RecoupError, type ClientOptions } from "recoup";
import { broken, failure, FakeServer, hang } from "./world.js";

const report = { table: "outreach.dol_errors", entity_id: "CO-1", code: "NETWORK_TIMEOUT" };

/** A client whose waits take no time. */
function prompt(server: FakeServer, options: Partial<ClientOptions> = {}): { client: Client; waits: number[] } {
  const waits: number[] = [];
  return { waits, client: server.client({ sleep: async (ms) => void waits.push(ms), ...options }) };
}

test("every attempt of a call is the same request", async () => {
  let calls = 0;
  const server = new FakeServer(() => ++calls < 3 ? broken("ECONNRESET") : { error: { error_id: "e1" }, request_id: "r" });
  const { client, waits } = prompt(server);
  assert.equal((await client.report(report)).error.error_id, "e1");
  assert.deepEqual(waits, [1000, 2000]);
  const [first, , last] = server.seen;
  for (const name of ["Idempotency-Key", "X-Request-Id", "Authorization", "Content-Type"]) {
    assert.ok(first?.headers.get(name), name);
    assert.equal(last?.headers.get(name), first?.headers.get(name), name);
  }
  assert.match(first?.headers.get("Idempotency-Key") ?? "", /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.equal(first?.headers.get("Authorization"), "Bearer rdb_test");
  assert.deepEqual(first?.body, { ...report, service: "tests" });
  await client.report(report);
  assert.notEqual(server.seen.at(-1)?.headers.get("Idempotency-Key"), first?.headers.get("Idempotency-Key"));
});

test("what the API would do twice is not repeated, unless its caller says that it may be", async () => {
  const server = new FakeServer(() => broken("ECONNRESET"));
  const { client } = prompt(server);
  const counts = { body: { counts: [{ count: 1 }] } };
  await assert.rejects(client.call("POST /v1/processed", counts), { code: "CONNECTION_RESET" });
  assert.equal(server.seen.length, 1);
  await assert.rejects(client.call("POST /v1/processed", counts, { idempotent: true }), { code: "CONNECTION_RESET" });
  assert.equal(server.seen.length, 5);
  await assert.rejects(client.gate("CO-1", { retry: false }), { code: "CONNECTION_RESET" });
  assert.equal(server.seen.length, 6);
});

test("an answer that does not come in time is a time-out, and a caller may give up", async () => {
  const server = new FakeServer(hang);
  const { client } = prompt(server, { timeoutMs: 5 });
  await assert.rejects(client.gate("CO-1"), (e) => e instanceof RecoupError && e.code === "NETWORK_TIMEOUT" && e.retryable);
  assert.equal(server.seen.length, 6);
  const stop = new AbortController();
  const call = prompt(server).client.gate("CO-1", { signal: stop.signal });
  stop.abort();
  await assert.rejects(call, { code: "REQUEST_CANCELLED", retryable: false });
});

test("parameters are put where they belong", async () => {
  const server = new FakeServer(() => ({}));
  const { client } = prompt(server);
  await client.gate("a b/c?d");
  await client.call("GET /v1/errors", { query: { table: "t & u", limit: 5, state: undefined } });
  assert.deepEqual(server.seen.map((r) => r.method + " " + r.path), ["GET /v1/promotion/a%20b%2Fc%3Fd", "GET /v1/errors?table=t+%26+u&limit=5"]);
  await assert.rejects(client.gate(""), { code: "VALIDATION_ERROR" });
  assert.equal(server.seen.length, 2);
});

test("answers that cannot be used are errors of the contract", async () => {
  const answers: Array<[Response, string]> = [
    [new Response("{", { status: 200 }), "SCHEMA_INVALID"],
    [new Response("x".repeat(2000), { status: 200 }), "PAYLOAD_TOO_LARGE"],
    [new Response(null, { status: 302, headers: { Location: "https://elsewhere.example" } }), "CONFIGURATION_ERROR"],
    [failure(409, "PROMOTION_BLOCKED", { details: { blockers: [] } }), "PROMOTION_BLOCKED"],
  ];
  for (const [answer, code] of answers) {
    const server = new FakeServer(() => answer);
    await assert.rejects(prompt(server, { maxAnswerBytes: 1000 }).client.gate("CO-1"), { name: "RecoupError", code });
    assert.equal(server.seen.length, 1, code);
  }
  assert.deepEqual(await prompt(new FakeServer(() => new Response(null, { status: 204 }))).client.gate("CO-1"), {});
});

test("results are answered one by one", async () => {
  const server = new FakeServer(() => ({ items: [{ result: {} }, { failure: { error_code: "LEASE_LOST", message: "Lost." } }, {}] }));
  const { client } = prompt(server);
  const result = { lease_token: "t", outcome: "succeed" } as const;
  const answers = await client.results([result, result, result]);
  assert.deepEqual(answers.map((e) => e?.code), [undefined, "LEASE_LOST", "SCHEMA_INVALID"]);
  await assert.rejects(client.results([result]), { code: "SCHEMA_INVALID" });
  assert.equal(server.seen[0]?.headers.get("Prefer"), "return=minimal");
});

test("events are complete before they are sent", async () => {
  const server = new FakeServer(() => ({ accepted: 1, durable: true }));
  const { client } = prompt(server, { region: "eu", now: () => Date.parse("2026-02-05T12:00:00Z") });
  await client.sendEvents([{ code: "NETWORK_TIMEOUT" }, { code: "X", service: "own", event_id: "e", ts: "2026-01-01T00:00:00Z" }]);
  const [first, second] = server.seen[0]!.text.trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual({ ...first, event_id: "" }, { code: "NETWORK_TIMEOUT", service: "tests", region: "eu", ts: "2026-02-05T12:00:00.000Z", event_id: "" });
  assert.equal(parseInt(first.event_id.replaceAll("-", "").slice(0, 12), 16), Date.parse("2026-02-05T12:00:00Z"));
  assert.deepEqual(second, { code: "X", service: "own", region: "eu", event_id: "e", ts: "2026-01-01T00:00:00Z" });
  assert.equal(server.seen[0]?.headers.get("Content-Type"), "application/x-ndjson");
});

test("options that cannot be meant are refused", () => {
  for (const [options, words] of [
    [{ server: "" }, /expected an address/],
    [{ server: "recoup.example.com" }, /expected an address/],
    [{ server: "ftp://recoup.example.com" }, /expected an address/],
    [{ server: "https://user:secret@recoup.example.com" }, /no user/],
    [{ server: "https://recoup.example.com", key: "rdb_x\n" }, /line break/],
  ] as const) {
    assert.throws(() => new Client(options), words);
  }
});
