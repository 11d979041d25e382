/** The common cron expressions in words; any other is shown as it is. Pure. */

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/** `0 6 * * *`: "every day at 06:00". */
export function schedule(cron: string): string {
  const [minute = "", hour = "", date = "", month = "", day = "", ...more] = cron.trim().split(/\s+/);
  if (more.length > 0 || date !== "*" || month !== "*" || !/^\d+$/.test(minute)) return cron;
  const two = (text: string): string => text.padStart(2, "0");
  if (hour === "*" && day === "*") return `every hour at :${two(minute)}`;
  if (!/^\d+$/.test(hour)) return cron;
  const time = `${two(hour)}:${two(minute)}`;
  if (day === "*") return `every day at ${time}`;
  if (day === "1-5") return `on weekdays at ${time}`;
  const name = /^[0-7]$/.test(day) ? DAYS[Number(day)] : undefined;
  return name === undefined ? cron : `every ${name} at ${time}`;
}
