/** Which of many things a few letters mean. Pure. */

/** Those that have every word, the ones in which it begins a word first; without words, all of them in their order. */
export function matches<T>(all: readonly T[], typed: string, text: (one: T) => string): T[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...all];
  const found: { one: T; score: number; at: number }[] = [];
  all.forEach((one, at) => {
    const there = text(one).toLowerCase();
    let score = 0;
    for (const word of words) {
      const where = there.indexOf(word);
      if (where < 0) return;
      const isStart = where === 0 || /[\s/·:_-]/.test(there.charAt(where - 1));
      score += isStart ? 2 : 1;
    }
    found.push({ one, score, at });
  });
  return found.sort((a, b) => b.score - a.score || a.at - b.at).map((entry) => entry.one);
}
