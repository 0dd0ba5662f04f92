// Waiting that ends when a signal says so. Other files of this package use it; it is no entry of the package.

/** What a signal was aborted with. Older runtimes keep no reason. */
export const reasonOf = (signal) =>
  signal.reason ?? Object.assign(new Error('This operation was aborted'), { name: 'AbortError' });

/** Settles as the promise does, or with the reason of the signal if that comes first. */
export function until(promise, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => reject(reasonOf(signal));
    const settle = (end) => (value) => {
      signal?.removeEventListener('abort', stop);
      end(value);
    };
    promise.then(settle(resolve), settle(reject));
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop);
  });
}

/** Waits for some seconds, or throws when the signal says so. */
export function pause(seconds, signal) {
  let timer;
  const over = new Promise((resolve) => { timer = setTimeout(resolve, seconds * 1000); });
  return until(over, signal).finally(() => clearTimeout(timer));
}

/** Settles as the promise does, or throws after some seconds, or when the signal says so. */
export function within(seconds, promise, signal) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('There was timed out')), seconds * 1000);
  });
  return until(Promise.race([promise, late]), signal).finally(() => clearTimeout(timer));
}
