// The part that checks, for those who ask by themselves.
export { decode, verify } from './index.js';
export type { Call, Decoded, Known, Report, Request, SendCalls } from './index.js';
