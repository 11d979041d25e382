/** A snippet in parts, some of them hits. Pure; the places are counted in characters, as Python counts them. */

export interface Part { text: string; isHit: boolean }

export function marked(snippet: string, marks: readonly (readonly [number, number])[]): Part[] {
  const chars = Array.from(snippet);
  const parts: Part[] = [];
  let at = 0;
  const put = (to: number, isHit: boolean): void => {
    if (to > at) parts.push({ text: chars.slice(at, to).join(""), isHit });
    at = Math.max(at, to);
  };
  for (const [from, to] of marks) {
    put(Math.min(from, chars.length), false);
    put(Math.min(to, chars.length), true);
  }
  put(chars.length, false);
  return parts;
}
