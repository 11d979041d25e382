/**
 * The secret of this tab. It comes for a code out of the link, stays in sessionStorage, and is sent in a header and as
 * the first message of the WebSocket. It is never in an address: addresses stay in the history.
 */

const KEY = "rekindle.secret";

/** The code in the link, if there is one; it is taken out of the address at once. */
export function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) history.replaceState(null, "", location.pathname + location.search);
  return code;
}

export function secret(): string | null {
  return sessionStorage.getItem(KEY);
}

export function keepSecret(value: string): void {
  sessionStorage.setItem(KEY, value);
}

export function forgetSecret(): void {
  sessionStorage.removeItem(KEY);
}

/** Tells one tab from another, so that "somebody else answered" is true between two tabs of one person. */
export function clientName(): string {
  let name = sessionStorage.getItem("rekindle.client");
  if (name === null) {
    name = `page ${crypto.getRandomValues(new Uint32Array(1))[0]?.toString(36) ?? ""}`;
    sessionStorage.setItem("rekindle.client", name);
  }
  return name;
}
