/** A value, or the promise of one: what is at hand is not waited for, and what is waited for has its time. */

export function isPromise<V>(value: V): value is Extract<V, PromiseLike<unknown>> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

/**
 * Settles as `promise` does, or rejects after `limitMs`.
 *
 * @param tooLate What it rejects with then.
 * @param onLate Called right after that.
 */
export async function within<T, E extends Error>(
  promise: PromiseLike<T> | T,
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
