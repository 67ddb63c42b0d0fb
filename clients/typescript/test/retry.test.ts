import assert from "node:assert/strict";
import { test } from "node:test";
import { delay, policyOf, RecoupError, retry, type Attempt, type Sleep } from "recoup";

const fail = (error_code: string, retry_after = 0) => new RecoupError({ error_code, message: error_code, retry_after });

/** The waits that a failure which never goes away is granted, with the jitter drawn. */
async function waits(error: RecoupError, random: number, known = {}): Promise<number[]> {
  const all: number[] = [];
  const sleep: Sleep = async (ms) => void all.push(ms);
  await assert.rejects(retry(() => Promise.reject(error), { sleep, random: () => random, ...known }), (e) => e === error);
  return all;
}

test("each code is retried as its row says", async () => {
  assert.deepEqual(await waits(fail("NETWORK_TIMEOUT"), 0), [100, 150, 225, 337.5, 506.25]);
  assert.deepEqual((await waits(fail("NETWORK_TIMEOUT"), 1)).map((ms) => Math.round(ms * 1000) / 1000), [110, 165, 247.5, 371.25, 556.875]);
  assert.deepEqual(await waits(fail("DATABASE_CONNECTION_ERROR"), 0), [1000, 2000, 4000]);
  assert.deepEqual(await waits(fail("RATE_LIMIT_EXCEEDED"), 0), [60_000, 120_000, 240_000]);
  assert.deepEqual(await waits(fail("CONNECTION_RESET"), 0), [1000, 2000, 4000]);
  assert.deepEqual(await waits(fail("VALIDATION_ERROR"), 0), []);
  assert.deepEqual(await waits(fail("CONNECTION_RESET"), 0, { idempotent: false }), []);
  assert.deepEqual(await waits(fail("IDEMPOTENCY_CONFLICT"), 0, { proven: ["same_payload"] }), [1000, 2000, 4000]);
});

test("the other side's wish wins when it is longer, and ends it when it is too long", async () => {
  assert.deepEqual(await waits(fail("RATE_LIMIT_EXCEEDED", 90), 0), [90_000, 120_000, 240_000]);
  assert.deepEqual(await waits(fail("RATE_LIMIT_EXCEEDED", 900), 0), [900_000, 900_000, 900_000]);
  assert.deepEqual(await waits(fail("RATE_LIMIT_EXCEEDED", 901), 0), []);
  assert.deepEqual(await waits(fail("NETWORK_TIMEOUT", 6), 0), []);
});

test("a delay is never above its cap", () => {
  const stage = { baseMs: 1000, multiplier: 2, capMs: 60_000, jitter: "full" } as const;
  for (const [n, random, want] of [[1, 0, 0], [1, 0.5, 500], [4, 0.25, 2000], [7, 0.5, 30_000], [1_000_000, 1, 60_000]] as const) {
    assert.equal(delay(stage, n, () => random), want);
  }
  const request = policyOf("ANYTHING");
  for (const [n, random, want] of [[0, 0, 1000], [1, 0.5, 1050], [9, 0.5, 268_800], [10, 1, 300_000], [5000, 1, 300_000]] as const) {
    assert.equal(delay(request, n, () => random), want);
  }
});

test("work that turns out well returns, and every attempt is observed", async () => {
  const seen: Attempt[] = [];
  const failures = [fail("CONNECTION_RESET"), fail("NETWORK_TIMEOUT")];
  const result = await retry(async () => {
    const failure = failures.shift();
    if (failure) throw failure;
    return "done";
  }, { sleep: async () => {}, random: () => 0, observe: (a) => seen.push(a) });
  assert.equal(result, "done");
  assert.deepEqual(seen.map((a) => [a.number, a.error?.code, a.waitMs]), [[1, "CONNECTION_RESET", 1000], [2, "NETWORK_TIMEOUT", 150], [3, undefined, undefined]]);
});

test("a caller who gives up is heard before, during and between attempts", async () => {
  const cancelled = (e: unknown) => e instanceof RecoupError && e.code === "REQUEST_CANCELLED" && !e.isRetryable({ proven: ["idempotency_key"] });
  let calls = 0;
  await assert.rejects(retry(async () => calls++, { signal: AbortSignal.abort() }), cancelled);
  assert.equal(calls, 0);

  const during = new AbortController();
  await assert.rejects(retry(async () => {
    during.abort();
    throw fail("NETWORK_TIMEOUT");
  }, { signal: during.signal }), cancelled);

  const between = new AbortController();
  const waiting = retry(() => Promise.reject(fail("RATE_LIMIT_EXCEEDED")), { signal: between.signal, observe: () => queueMicrotask(() => between.abort()) });
  await assert.rejects(waiting, cancelled);
});
