import type { Failure } from "./api_gen.js";
import { codeOfStatus, RecoupError } from "./error.js";

/** The most that is read of an answer that is a failure. */
const maxFailure = 64 << 10;

/** What Go's and nginx's servers answer to plain HTTP on a port for HTTPS. */
const speaksHTTPS = /^Client sent an HTTP request to an HTTPS server\.|The plain HTTP request was sent to HTTPS port/;

/**
 * Reads the error out of an answer; undefined if its status is below 400. It takes the
 * contract's shape and problem+json, and makes the best of bodies that are neither, such
 * as a proxy's page, whose text it does not repeat.
 */
export async function decode(answer: Response): Promise<RecoupError | undefined> {
  if (answer.status < 400) return undefined;
  const received = await readText(answer, maxFailure).catch(() => "");
  if (answer.status === 400 && speaksHTTPS.test(received)) {
    return new RecoupError({ error_code: "TLS_ERROR", message: "This server speaks HTTPS. Use its https:// address.", details: { error_type: "speaks_https" } }, { status: 400 });
  }
  const body = object(received);
  const named = text(body.error_code);
  const failure: Failure = {
    error_code: named && /^[A-Za-z][A-Za-z0-9_]{0,63}$/.test(named) ? named.toUpperCase() : codeOfStatus(answer.status) ?? "UPSTREAM_ERROR",
    message: text(body.message) ?? text(body.detail) ?? text(body.title) ?? `The server answered with status ${answer.status}.`,
    request_id: text(body.request_id) ?? answer.headers.get("X-Request-Id") ?? "",
    details: typeof body.details === "object" && body.details !== null ? { ...body.details } : {},
    retry_after: Math.max(seconds(body.retry_after), retryAfter(answer.headers)),
  };
  const timestamp = text(body.timestamp);
  const link = safeLink(text(body.documentation_url));
  return new RecoupError({ ...failure, ...(timestamp && { timestamp }), ...(link && { documentation_url: link }) }, { status: answer.status });
}

/** Makes an error of what a batch says of one item. */
export function ofItem(failure: unknown): RecoupError {
  const body = typeof failure === "object" && failure !== null ? (failure as Partial<Failure>) : {};
  const code = text(body.error_code);
  if (!code) return new RecoupError({ error_code: "SCHEMA_INVALID", message: "The server's answer says nothing of this item." });
  return new RecoupError({ ...body, error_code: code, message: text(body.message) ?? code });
}

/** Reads a body, and fails if it has more bytes than it may have. */
export async function readText(answer: Response, most: number): Promise<string> {
  const reader = answer.body?.getReader();
  if (!reader) return "";
  const decoder = new TextDecoder();
  let all = "";
  for (let size = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return all + decoder.decode();
    if ((size += value.byteLength) > most) {
      await reader.cancel();
      throw new RecoupError({ error_code: "PAYLOAD_TOO_LARGE", message: `The answer has more than ${most} bytes.` });
    }
    all += decoder.decode(value, { stream: true });
  }
}

/** Reads a Retry-After header. A date is compared with the server's own clock, so that the two need not agree. */
function retryAfter(headers: Headers): number {
  const value = headers.get("Retry-After")?.trim() ?? "";
  if (/^\d+$/.test(value)) return seconds(Number(value));
  const [at, now] = [Date.parse(value), Date.parse(headers.get("Date") ?? "")];
  return seconds((at - now) / 1000);
}

/** A year: no policy waits anywhere near as long. */
const longest = 365 * 24 * 3600;

function seconds(value: unknown): number {
  const n = typeof value === "number" && value > 0 ? Math.ceil(value) : 0;
  return Math.min(n, longest);
}

/** A link that a page may show: a web address, or a path. */
function safeLink(link: string | undefined): string | undefined {
  return link && /^(https?:\/\/[^\\]+|\/(?![/\\])[^\\]*)$/.test(link) ? link : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function object(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
