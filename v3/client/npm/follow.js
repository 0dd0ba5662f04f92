// Compiled from src/follow.js.
import { isPassing } from './errors.js';
import { same } from './status.js';
import { pause, reasonOf, until } from './wait.js';
export function statuses(status, { onRetry, replacement, ...request }) {
	const { signal } = request;
	const asked = { ...request };
	const halt = new AbortController();
	const stop = () => halt.abort();
	let started = false;
	let ended = false;
	let failures = 0;
	let seconds = 0;
	const end = () => {
		ended = true;
		signal?.removeEventListener('abort', stop);
		return ({ done: true, value: undefined });
	};
	async function advance() {
		for (;;) {
			if (signal?.aborted)
				throw reasonOf(signal);
			if (seconds > 0)
				await pause(seconds, halt.signal);
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
			}
			catch (error) {
				if (!isPassing(error))
					throw error;
				seconds = error.retryAfter ?? Math.min(3 * 2 ** failures++, 60);
				onRetry?.(error, seconds);
				seconds = Math.max(seconds, 1);
			}
		}
	}
	async function step() {
		if (!started)
			signal?.addEventListener('abort', stop);
		started = true;
		if (ended || seconds < 0)
			return end();
		try {
			return await advance();
		}
		catch (error) {
			if (ended)
				return end();
			end();
			throw signal?.aborted ? reasonOf(signal) : error;
		}
	}
	let turn = Promise.resolve();
	const iterator = {
		next: () => {
			const mine = turn.then(step);
			turn = mine.catch(() => undefined);
			return mine;
		},
		return: async (value) => {
			end();
			stop();
			return { done: true, value: await value };
		},
		throw: async (error) => {
			end();
			stop();
			throw error;
		},
		[Symbol.asyncIterator]: () => iterator,
	};
	if (Symbol.asyncDispose)
		iterator[Symbol.asyncDispose] = async () => { await iterator.return(); };
	return iterator;
}
export async function tellEach(iterator, onStatus) {
	let last;
	for (;;) {
		const { done, value } = await iterator.next();
		if (done)
			return last;
		last = value;
		try {
			await onStatus(value);
		}
		catch (error) {
			await iterator.return();
			throw error;
		}
	}
}
