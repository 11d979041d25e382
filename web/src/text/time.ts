/** Times and durations as people read them. Pure: the time is passed in, in seconds since 1970. */

const two = (n: number): string => String(n).padStart(2, "0");

/** `3 min 12 s`, `2 h 5 min`, `4 d 3 h`: the two largest units. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const days = Math.floor(whole / 86400);
  const hours = Math.floor((whole % 86400) / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const rest = whole % 60;
  const parts: [number, string][] = [
    [days, "d"],
    [hours, "h"],
    [minutes, "min"],
    [rest, "s"],
  ];
  const first = parts.findIndex(([n]) => n > 0);
  if (first < 0) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n} ${unit}`)
    .join(" ");
}

/** One unit, for lists: `45 s`, `3 min`, `2 h`, `5 d`. */
export function span(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole >= 86400) return `${Math.floor(whole / 86400)} d`;
  if (whole >= 3600) return `${Math.floor(whole / 3600)} h`;
  if (whole >= 60) return `${Math.floor(whole / 60)} min`;
  return `${whole} s`;
}

/** `just now`, `3 min ago`. */
export function ago(at: number, now: number): string {
  const seconds = now - at;
  return seconds < 5 ? "just now" : `${span(seconds)} ago`;
}

/** `16:20` today, `Tue 16:20` within six days, else `2026-11-18 16:20`. */
export function clock(at: number, now: number): string {
  const there = new Date(at * 1000);
  const today = new Date(now * 1000);
  const time = `${two(there.getHours())}:${two(there.getMinutes())}`;
  if (there.toDateString() === today.toDateString()) return time;
  const day = (d: Date): number => Date.UTC(d.getFullYear(), d.getMonth(), d.getDate()) / 86400000;
  if (Math.abs(day(there) - day(today)) < 6) {
    return `${["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][there.getDay()] ?? ""} ${time}`;
  }
  return `${there.getFullYear()}-${two(there.getMonth() + 1)}-${two(there.getDate())} ${time}`;
}

/** Everything, for a title on hover: `2026-11-18 16:20:05`. */
export function absolute(at: number): string {
  const d = new Date(at * 1000);
  const date = `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
  return `${date} ${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
}

/** What waits: `goes on at 16:20 (in 12 min)`. */
export function until(at: number, now: number): string {
  return at > now ? `${clock(at, now)} (in ${duration(at - now)})` : "any moment now";
}
