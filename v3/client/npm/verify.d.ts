/**
 * Says what calldata does, or null if it is no approval, swap or burn in canonical encoding.
 * @param {unknown} calldata
 * @returns {Decoded | null}
 */
export function decode(calldata: unknown): Decoded | null;
/**
 * Works a quote out again from the request. It never throws.
 * @param {Request} request
 * @param {unknown} quote
 * @param {Known} known
 * @returns {Report}
 */
export function verify(request: Request, quote: unknown, known: Known): Report;
export type Call = import("./types.js").Call;
export type Decoded = import("./types.js").Decoded;
export type Known = import("./types.js").Known;
export type Report = import("./types.js").Report;
export type Request = import("./types.js").Request;
export type SendCalls = import("./types.js").SendCalls;
