/**
 * For Node alone: a fetch that trusts authorities of its own. Browsers decide by themselves whom they
 * trust, so the package's main module does not import this one.
 */
import { request as send, type RequestOptions } from "node:https";
import { Readable } from "node:stream";
import { rootCertificates } from "node:tls";

/**
 * Returns a fetch for the option `fetch` of a Client whose server has a certificate that is signed by a
 * private authority, or by itself. ca is that authority's certificate, PEM; those that Node ships are
 * trusted as well. It sends what a Client does: text, over HTTPS, and follows no redirect.
 */
export function fetchTrusting(ca: string | Uint8Array): typeof fetch {
  const text = typeof ca === "string" ? ca : new TextDecoder().decode(ca);
  if (!text.includes("-----BEGIN CERTIFICATE-----")) throw new TypeError("recoup: ca has no certificate: expected PEM blocks that begin with -----BEGIN CERTIFICATE-----");
  const trusted = [...rootCertificates, text];
  return (url, init = {}) => new Promise((resolve, reject) => {
    const { method = "GET", body, signal } = init;
    const options: RequestOptions = { method, headers: Object.fromEntries(new Headers(init.headers)), ca: trusted, ...(signal && { signal }) };
    const request = send(String(url), options, (answer) => {
      const { statusCode = 0, rawHeaders } = answer;
      try {
        const headers = new Headers();
        for (let i = 0; i + 1 < rawHeaders.length; i += 2) headers.append(rawHeaders[i] ?? "", rawHeaders[i + 1] ?? "");
        const empty = [204, 205, 304].includes(statusCode) || method === "HEAD";
        const response = new Response(empty ? null : (Readable.toWeb(answer) as ReadableStream), { status: statusCode, headers });
        if (empty) answer.resume();
        resolve(response);
      } catch (e) { // a status or a header that fetch does not allow
        reject(e);
        answer.destroy();
      }
    });
    request.on("error", reject);
    request.end(typeof body === "string" ? body : undefined);
  });
}
