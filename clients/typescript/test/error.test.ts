import assert from "node:assert/strict";
import { test } from "node:test";
import { classify, codes, decode, isRetryable, RecoupError } from "recoup";

test("an error has the contract's shape", () => {
  const body = {
    error_code: "RATE_LIMIT_EXCEEDED", message: "Too many requests.", details: { limit: 5 }, request_id: "req_1",
    timestamp: "2026-02-05T12:00:00Z", retry_after: 60, documentation_url: "/errors/RATE_LIMIT_EXCEEDED",
  };
  const error = new RecoupError(body, { status: 429 });
  assert.ok(error instanceof Error);
  assert.equal(error.message, "Too many requests.");
  assert.deepEqual([error.code, error.details, error.requestId, error.retryAfter, error.status, error.retryable],
    ["RATE_LIMIT_EXCEEDED", { limit: 5 }, "req_1", 60, 429, true]);
  assert.deepEqual(JSON.parse(JSON.stringify(error)), body);
});

test("what is retryable the registry says", () => {
  for (const [code, definition] of Object.entries(codes)) {
    assert.equal(isRetryable(code), definition.class !== "fatal" && definition.class !== "conditional", code);
  }
  for (const [code, known, want] of [
    ["NETWORK_TIMEOUT", { idempotent: false }, false],
    ["NETWORK_TIMEOUT", { idempotent: false, proven: ["idempotency_key"] }, true],
    ["RATE_LIMIT_EXCEEDED", { idempotent: false }, true],
    ["IDEMPOTENCY_CONFLICT", {}, false],
    ["IDEMPOTENCY_CONFLICT", { proven: ["same_payload"] }, true],
    ["IDEMPOTENCY_CONFLICT", { proven: ["idempotency_key"] }, false],
    ["SLOT_CONFLICT", { proven: ["state_changed"] }, true],
    ["OUTCOME_UNKNOWN", { proven: ["idempotency_key"] }, true],
    ["VALIDATION_ERROR", { proven: ["same_payload", "state_changed", "idempotency_key"] }, false],
    ["NO_SUCH_CODE", {}, false],
    ["toString", {}, false],
  ] as const) {
    assert.equal(isRetryable(code, known), want, `${code} ${JSON.stringify(known)}`);
  }
});

test("a code that only the server knows is judged by its status", async () => {
  for (const [status, want] of [[503, true], [429, true], [500, true], [404, false], [422, false]] as const) {
    const error = await decode(Response.json({ error_code: "OWN_CODE", message: "Own." }, { status }));
    assert.deepEqual([error?.code, error?.retryable], ["OWN_CODE", want], String(status));
  }
});

test("answers that are not of the contract are made the best of", async () => {
  for (const [answer, want] of [
    [new Response("<h1>Bad gateway</h1>", { status: 502, headers: { "Content-Type": "text/html" } }), ["UPSTREAM_ERROR", "The server answered with status 502.", 0]],
    [new Response(null, { status: 401 }), ["INVALID_API_KEY", "The server answered with status 401.", 0]],
    [new Response("[]", { status: 429, headers: { "Retry-After": "7" } }), ["RATE_LIMIT_EXCEEDED", "The server answered with status 429.", 7]],
    [new Response("{", { status: 503, headers: { "Retry-After": "Wed, 21 Oct 2026 07:30:00 GMT", Date: "Wed, 21 Oct 2026 07:28:00 GMT" } }), ["TEMPORARY_UNAVAILABLE", "The server answered with status 503.", 120]],
    [new Response("", { status: 503, headers: { "Retry-After": "Wed, 21 Oct 2026 07:30:00 GMT" } }), ["TEMPORARY_UNAVAILABLE", "The server answered with status 503.", 0]],
    [Response.json({ title: "Gone", detail: "It is gone.", error_code: 7, retry_after: -3 }, { status: 410 }), ["NOT_FOUND", "It is gone.", 0]],
    [Response.json({ error_code: "rate_limit_exceeded", message: "Slow.", retry_after: 9 }, { status: 429, headers: { "Retry-After": "3" } }), ["RATE_LIMIT_EXCEEDED", "Slow.", 9]],
  ] as const) {
    const error = await decode(answer);
    assert.deepEqual([error?.code, error?.message, error?.retryAfter], want);
  }
  assert.equal(await decode(new Response("fine")), undefined);
});

test("a link is shown only if a page may show it", async () => {
  for (const [link, want] of [
    ["https://docs.example.com/errors/X", "https://docs.example.com/errors/X"], ["/errors/X", "/errors/X"],
    ["javascript:alert(1)", undefined], ["//evil.example", undefined], ["/\\evil.example", undefined],
  ] as const) {
    const error = await decode(Response.json({ error_code: "NOT_FOUND", message: "", documentation_url: link }, { status: 404 }));
    assert.equal(error?.documentationUrl, want, link);
  }
});

test("whatever is thrown becomes an error of the contract", () => {
  const system = (code: string) => new TypeError("fetch failed", { cause: Object.assign(new Error(), { code }) });
  for (const [thrown, code, retryable] of [
    [system("ECONNREFUSED"), "TEMPORARY_UNAVAILABLE", true],
    [system("ECONNRESET"), "CONNECTION_RESET", true],
    [system("UND_ERR_SOCKET"), "CONNECTION_RESET", true],
    [system("UND_ERR_CONNECT_TIMEOUT"), "NETWORK_TIMEOUT", true],
    [system("ENOTFOUND"), "DOMAIN_NOT_FOUND", true],
    [system("EAI_AGAIN"), "DNS_TIMEOUT", true],
    [system("CERT_HAS_EXPIRED"), "TLS_ERROR", false],
    [new TypeError("Failed to fetch"), "CONNECTION_RESET", true], // Chromium
    [new TypeError("NetworkError when attempting to fetch resource."), "CONNECTION_RESET", true], // Firefox
    [new TypeError("Load failed"), "CONNECTION_RESET", true], // Safari
    [new TypeError("x is not a function"), "RUNTIME_BUG", false],
    [new ReferenceError("x is not defined"), "RUNTIME_BUG", false],
    [new SyntaxError("Unexpected token"), "MALFORMED_JSON", false],
    [new DOMException("late", "TimeoutError"), "NETWORK_TIMEOUT", true],
    [new DOMException("enough", "AbortError"), "REQUEST_CANCELLED", false],
    [new Error("out of ideas"), "INTERNAL_ERROR", false],
    ["a text", "INTERNAL_ERROR", false],
    [undefined, "INTERNAL_ERROR", false],
    [new Error("outer", { cause: new RecoupError({ error_code: "QUOTA_EXCEEDED", message: "" }) }), "QUOTA_EXCEEDED", true],
  ] as const) {
    const error = classify(thrown);
    assert.deepEqual([error.code, error.retryable], [code, retryable], String(thrown));
  }
});
