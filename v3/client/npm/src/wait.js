// Waiting that ends when a signal says so. Other files of this package use it; it is no entry of the package.

/**
 * What a signal was aborted with. Older runtimes keep no reason.
 * @param {AbortSignal | undefined} signal
 */
export const reasonOf = (signal) =>
  signal?.reason ?? Object.assign(new Error('This operation was aborted'), { name: 'AbortError' });

/**
 * Settles as the promise does, or with the reason of the signal if that comes first.
 * @template T
 * @param {Promise<T>} promise
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<T>}
 */
export function until(promise, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => reject(reasonOf(signal));
    const over = () => signal?.removeEventListener('abort', stop);
    promise.then((value) => {
      over();
      resolve(value);
    }, (error) => {
      over();
      reject(error);
    });
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop);
  });
}

/**
 * Waits for some seconds, or throws when the signal says so.
 * @param {number} seconds
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<void>}
 */
export function pause(seconds, signal) {
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  const over = new Promise((resolve) => { timer = setTimeout(resolve, seconds * 1000); });
  return until(over, signal).then(() => undefined).finally(() => clearTimeout(timer));
}

/**
 * Settles as the promise does, or throws after some seconds, or when the signal says so.
 * @template T
 * @param {number} seconds
 * @param {Promise<T>} promise
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<T>}
 */
export function within(seconds, promise, signal) {
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  /** @type {Promise<never>} */
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('The wallet timed out')), seconds * 1000);
  });
  return until(Promise.race([promise, late]), signal).finally(() => clearTimeout(timer));
}
