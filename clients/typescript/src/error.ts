import type { Failure } from "./api_gen.js";
import { codes, retryable, type Code } from "./codes_gen.js";

/** A registered code, or one that only the server knows. */
export type ErrorCode = Code | (string & {});

/** What a caller may prove, so that a failure with a conditional code is worth a retry. */
export type Condition = "idempotency_key" | "same_payload" | "state_changed";

/** What is known of the work that failed, beside the failure. */
export interface Repeatable {
  /** What is proven of it. */
  proven?: readonly Condition[];
  /** false: it must not be done twice and has no idempotency key. */
  idempotent?: boolean;
}

/** A failure of the contract's shape: every error that this package throws is one. */
export class RecoupError extends Error {
  override readonly name: string = "RecoupError";
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string;
  readonly timestamp: string | undefined;
  /** Seconds that the other side asked to wait; 0: it asked for nothing. */
  readonly retryAfter: number;
  readonly documentationUrl: string | undefined;
  /** The status of the answer; 0: there was none. */
  readonly status: number;

  constructor(failure: Partial<Failure> & Pick<Failure, "error_code" | "message">, options: { status?: number; cause?: unknown } = {}) {
    super(failure.message, "cause" in options ? { cause: options.cause } : undefined);
    this.code = failure.error_code;
    this.details = failure.details ?? {};
    this.requestId = failure.request_id ?? "";
    this.timestamp = failure.timestamp;
    this.retryAfter = failure.retry_after ?? 0;
    this.documentationUrl = failure.documentation_url;
    this.status = options.status ?? 0;
  }

  /** Whether trying again can succeed without a change, by the code alone. */
  get retryable(): boolean {
    return this.isRetryable();
  }

  /**
   * Whether the work may be tried again, as the registry says of the code. A code that is
   * not registered is judged by the status it came with; without one it is not repeated.
   */
  isRetryable({ proven = [], idempotent = true }: Repeatable = {}): boolean {
    if (this.final) return false;
    const code = isCode(this.code) ? this.code : codeOfStatus(this.status);
    const condition = code && codes[code].condition;
    return code !== undefined && retryable(code, {
      proven: proven.some((p) => p === condition),
      idempotent: idempotent || proven.includes("idempotency_key"),
    });
  }

  /** This occurrence is never repeated, whatever its code says. */
  protected get final(): boolean {
    return false;
  }

  toJSON(): Failure {
    return {
      error_code: this.code, message: this.message, request_id: this.requestId, details: { ...this.details },
      ...(this.timestamp && { timestamp: this.timestamp }),
      ...(this.retryAfter > 0 && { retry_after: this.retryAfter }),
      ...(this.documentationUrl && { documentation_url: this.documentationUrl }),
    };
  }
}

/** A failure that must not be repeated although its code could be: the caller gave up, or nothing is known of it. */
export class FinalError extends RecoupError {
  protected override get final(): boolean {
    return true;
  }
}

export function isCode(code: string): code is Code {
  return Object.hasOwn(codes, code);
}

/** Whether trying again can succeed: of a code, or of anything that was thrown. */
export function isRetryable(failure: unknown, known?: Repeatable): boolean {
  return (typeof failure === "string" ? new RecoupError({ error_code: failure, message: "" }) : classify(failure)).isRetryable(known);
}

/** The code of an answer that names none, or one that is not registered. */
export function codeOfStatus(status: number): Code | undefined {
  return byStatus[status] ?? (status >= 500 && status < 600 ? "UPSTREAM_ERROR" : status >= 400 && status < 500 ? "VALIDATION_ERROR" : undefined);
}

const byStatus: Readonly<Record<number, Code>> = {
  401: "INVALID_API_KEY", 402: "AUTH_DENIED", 403: "INSUFFICIENT_PERMISSIONS", 404: "NOT_FOUND", 405: "METHOD_NOT_ALLOWED",
  407: "AUTH_DENIED", 408: "NETWORK_TIMEOUT", 409: "CONFLICT", 410: "NOT_FOUND", 412: "STALE_READ", 413: "PAYLOAD_TOO_LARGE",
  415: "UNSUPPORTED_CONTENT_TYPE", 423: "CONFLICT", 425: "TEMPORARY_UNAVAILABLE", 429: "RATE_LIMIT_EXCEEDED", 451: "CONTENT_REJECTED",
  499: "REQUEST_CANCELLED", 500: "INTERNAL_ERROR", 501: "EXTERNAL_API_CHANGED", 503: "TEMPORARY_UNAVAILABLE", 504: "NETWORK_TIMEOUT",
  505: "EXTERNAL_API_CHANGED", 529: "SERVICE_OVERLOADED",
};

/**
 * Returns anything that was thrown as an error of the contract. What is not understood is
 * INTERNAL_ERROR and never repeated.
 */
export function classify(thrown: unknown): RecoupError {
  for (let e = thrown; e instanceof Error; e = e.cause) {
    if (e instanceof RecoupError) return e;
  }
  const { name = "", message = String(thrown) } = thrown instanceof Error ? thrown : {};
  const error = (error_code: Code, details?: Record<string, unknown>) =>
    new RecoupError({ error_code, message: codes[error_code].description, ...(details && { details }) }, { cause: thrown });
  if (name === "AbortError") return new FinalError({ error_code: "REQUEST_CANCELLED", message: "The caller gave up." }, { cause: thrown });
  if (name === "TimeoutError") return error("NETWORK_TIMEOUT");
  const network = ofNetwork(thrown);
  if (network) return error(network, { error_type: reason(thrown) ?? "fetch_failed" });
  if (thrown instanceof SyntaxError) return error("MALFORMED_JSON");
  if (thrown instanceof TypeError || thrown instanceof ReferenceError || thrown instanceof RangeError) return error("RUNTIME_BUG");
  return new FinalError({ error_code: "INTERNAL_ERROR", message }, { cause: thrown });
}

/** What the system says of a failed connection, in its own word. */
function reason(thrown: unknown): string | undefined {
  for (let e = thrown; e instanceof Error; e = e.cause) {
    if ("code" in e && typeof e.code === "string") return e.code;
  }
  return undefined;
}

/** The code of a connection that failed. Browsers do not say why it did. */
function ofNetwork(thrown: unknown): Code | undefined {
  const word = reason(thrown) ?? "";
  if (/^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EHOSTDOWN|ENETDOWN)$/.test(word)) return "TEMPORARY_UNAVAILABLE";
  if (/^(ECONNRESET|ECONNABORTED|EPIPE|UND_ERR_SOCKET)$/.test(word)) return "CONNECTION_RESET";
  if (/^(ETIMEDOUT|UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT)$/.test(word)) return "NETWORK_TIMEOUT";
  if (word === "ENOTFOUND") return "DOMAIN_NOT_FOUND";
  if (word === "EAI_AGAIN") return "DNS_TIMEOUT";
  if (/^(ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(word)) return "TLS_ERROR";
  if (thrown instanceof TypeError && /fetch|network|load failed|terminated/i.test(thrown.message)) return "CONNECTION_RESET";
  return undefined;
}
