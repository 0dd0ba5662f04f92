// Follows a transaction: asks for its status again and again, as often as the gateway says. Other files of this package
// use it; it is no entry of the package.
import { isPassing } from './errors.js';
import { same } from './status.js';
import { pause, reasonOf, until } from './wait.js';

/** @import { FollowRequest, StatusRequest } from './index.js' */
/** @import { Status } from './types.js' */

/**
 * Gives each status of a transaction until it is final. An iterator written out, since phones cannot compile async
 * generators.
 * @param {(request: StatusRequest) => Promise<Status>} status
 * @param {FollowRequest} request
 * @returns {AsyncGenerator<Status, void, undefined>}
 */
export function statuses(status, { onRetry, replacement, ...request }) {
  const { signal } = request;
  const asked = { ...request };
  const halt = new AbortController();
  const stop = () => halt.abort();
  let started = false;
  let ended = false;
  let failures = 0;
  let seconds = 0; // until the next question; below 0 for none
  const end = () => {
    ended = true;
    signal?.removeEventListener('abort', stop);
    return /** @type {const} */ ({ done: true, value: undefined });
  };

  // Asks until there is an answer to give. Failures that may pass are waited for.
  async function advance() {
    for (;;) {
      if (signal?.aborted) throw reasonOf(signal);
      if (seconds > 0) await pause(seconds, halt.signal);
      try {
        const value = await status({ ...asked, signal: halt.signal });
        const other = value.source ? undefined : await until(Promise.resolve(replacement?.(value)), halt.signal);
        if (other && !same(other, asked.txHash)) {
          asked.txHash = other;
          continue;
        }
        failures = 0;
        seconds = value.final ? -1 : Math.min(Math.max(value.nextCheckSeconds, 1), 3600);
        return { done: false, value };
      } catch (error) {
        if (!isPassing(error)) throw error;
        seconds = error.retryAfter ?? Math.min(3 * 2 ** failures++, 60);
        onRetry?.(error, seconds);
        seconds = Math.max(seconds, 1);
      }
    }
  }
  async function step() {
    if (!started) signal?.addEventListener('abort', stop);
    started = true;
    if (ended || seconds < 0) return end();
    try {
      return await advance();
    } catch (error) {
      if (ended) return end();
      end();
      throw signal?.aborted ? reasonOf(signal) : error;
    }
  }

  /** @type {Promise<unknown>} */
  let turn = Promise.resolve(); // questions are answered one after the other
  /** @type {any} */
  const iterator = {
    next: () => {
      const mine = turn.then(step);
      turn = mine.catch(() => undefined);
      return mine;
    },
    return: async (/** @type {unknown} */ value) => {
      end();
      stop();
      return { done: true, value: await value };
    },
    throw: async (/** @type {unknown} */ error) => {
      end();
      stop();
      throw error;
    },
    [Symbol.asyncIterator]: () => iterator,
  };
  if (Symbol.asyncDispose) iterator[Symbol.asyncDispose] = async () => { await iterator.return(); };
  return iterator;
}

/**
 * The same with a callback. Gives the last status.
 * @param {AsyncGenerator<Status, void, undefined>} iterator
 * @param {(status: Status) => unknown} onStatus
 */
export async function tellEach(iterator, onStatus) {
  let last;
  for (;;) {
    const { done, value } = await iterator.next();
    if (done) return last;
    last = value;
    try {
      await onStatus(value);
    } catch (error) {
      await iterator.return();
      throw error;
    }
  }
}
