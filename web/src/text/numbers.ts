/** Amounts as people read them. Pure. */

/** `950`, `64 k`, `1.2 M`. */
export function short(n: number): string {
  if (n >= 999_500) return `${(n / 1_000_000).toFixed(n >= 99_950_000 ? 0 : 1)} M`;
  if (n >= 9_950) return `${Math.round(n / 1000)} k`;
  if (n >= 1000) return `${(n / 1000).toFixed(1)} k`;
  return String(Math.round(n));
}

/** `$4.10`; below a cent `<$0.01`, so that something is never shown as nothing. */
export function money(dollars: number): string {
  if (dollars > 0 && dollars < 0.01) return "<$0.01";
  return `$${dollars.toFixed(2)}`;
}

/** What was spent, if some turns have told no price: then it is not all, and may be anything. */
export function spending(dollars: number, unpriced: number): string {
  if (unpriced === 0) return `${money(dollars)} spent`;
  return dollars > 0 ? `${money(dollars)} spent, and more that was not reported` : "cost unknown";
}

/** `1 task`, `2 tasks`. */
export function counted(n: number, word: string): string {
  return `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;
}

/** `48 %` of a whole; nothing where the whole is not known. */
export function percent(part: number, whole: number | null | undefined): string {
  return whole ? `${Math.round((100 * part) / whole)} %` : "";
}

/** `3.2 GB`. */
export function bytes(n: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let size = n;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${unit > 0 && size < 10 ? size.toFixed(1) : Math.round(size)} ${units[unit] ?? ""}`;
}
