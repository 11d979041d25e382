/**
 * What the daemon sends, as values. Characters that turn the direction of text around are replaced: what an agent or a
 * repository wrote must not look like another command than the one that a person allows. The terminal does the same.
 */

const TURNING = /[\u202A-\u202E\u2066-\u2069]/g;
/** The same characters in JSON, as they are or escaped. Most texts have none, and are parsed as fast as ever. */
const TURNING_IN_JSON = /[\u202A-\u202E\u2066-\u2069]|\\u20(?:2[a-e]|6[6-9])/i;

/** Raises SyntaxError if it is not JSON. */
export function decoded(text: string): unknown {
  return TURNING_IN_JSON.test(text) ? JSON.parse(text, straightened) : JSON.parse(text);
}

function straightened(_name: string, value: unknown): unknown {
  return typeof value === "string" ? value.replace(TURNING, "\uFFFD") : value;
}
