// Compiled from src/wait.js.
export const reasonOf = (signal) => signal?.reason ?? Object.assign(new Error('This operation was aborted'), { name: 'AbortError' });
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
		if (signal?.aborted)
			stop();
		else
			signal?.addEventListener('abort', stop);
	});
}
export function pause(seconds, signal) {
	let timer;
	const over = new Promise((resolve) => { timer = setTimeout(resolve, seconds * 1000); });
	return until(over, signal).then(() => undefined).finally(() => clearTimeout(timer));
}
export function within(seconds, promise, signal) {
	let timer;
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error('The wallet timed out')), seconds * 1000);
	});
	return until(Promise.race([promise, late]), signal).finally(() => clearTimeout(timer));
}
