/** Waits, and rejects with the signal's reason when that aborts. */
export type Sleep = (ms: number, signal?: AbortSignal) => Promise<void>;

/** The longest delay that setTimeout takes. */
const longest = 2 ** 31 - 1;

export const sleep: Sleep = (ms, signal) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, Math.min(ms, longest));
    signal?.addEventListener("abort", end, { once: true });
  });

/** Returns a UUIDv7: ids made later sort later, and the time of an event can be read from its id. */
export function newId(now: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  for (let i = 0; i < 6; i++) bytes[i] = Math.floor(now / 2 ** (8 * (5 - i))) % 256;
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
