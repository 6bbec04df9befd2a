/** A value, or the promise of one: what is at hand is not waited for, and what is waited for has its time. */

export function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof value === 'object' && value !== null && typeof (value as Promise<T>).then === 'function';
}

/**
 * Settles as `promise` does, or rejects after `limitMs`.
 *
 * @param tooLate What it rejects with then.
 * @param onLate Called right after that.
 */
export async function within<T, E extends Error>(
  promise: Promise<T> | T,
  limitMs: number,
  tooLate: () => E,
  onLate?: (error: E) => void,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const expiry = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = tooLate();
      reject(error);
      onLate?.(error);
    }, limitMs).unref();
  });
  try {
    return await Promise.race([promise, expiry]);
  } finally {
    clearTimeout(timer);
  }
}
