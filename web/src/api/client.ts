/** Requests to the daemon. Every change has a key of its own, so that asking again is harmless. */

import { decoded } from "./decoding";
import { secret } from "./secret";

/** What went wrong: what happened, what to do, and whether a retry can help. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
  }

  /** Nobody answered, or the daemon was busy: the same request may work in a moment. */
  get canRetry(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 503;
  }
}

type Query = Record<string, string | number | boolean | null | undefined>;
const PATIENCE = 30_000;
/** A change of a session on another host waits for what that host says. */
const CHANGE_PATIENCE = 180_000;

/** A new key for something that a person does once. */
export function newKey(): string {
  const raw = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(raw, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return request<T>("GET", address(path, query), undefined, undefined, signal);
}

export async function change<T>(
  method: "POST" | "PUT" | "PATCH" | "DELETE",
  path: string,
  body: unknown = undefined,
  key: string = newKey(),
): Promise<T> {
  return request<T>(method, address(path, {}), body, key);
}

function address(path: string, query: Query): string {
  const words = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== null && value !== undefined) words.set(name, String(value));
  }
  const text = words.toString();
  return `/api/v1${path}${text ? `?${text}` : ""}`;
}

async function request<T>(
  method: string, path: string, body: unknown, key: string | undefined, signal?: AbortSignal,
): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  const known = secret();
  if (known !== null) headers["Authorization"] = `Bearer ${known}`;
  if (key !== undefined) headers["Idempotency-Key"] = key;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer: Response;
  try {
    answer = await fetch(path, {
      method,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      signal: signal ?? AbortSignal.timeout(method === "GET" ? PATIENCE : CHANGE_PATIENCE),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Problem(0, "unreachable", "The daemon did not answer.", "It may be starting; the page keeps trying.");
  }
  if (answer.status === 204) return undefined as T;
  const text = await answer.text();
  let told: unknown = null;
  try {
    told = text === "" ? null : decoded(text);
  } catch {
    throw new Problem(answer.status, "internal", "The answer could not be read.", "");
  }
  if (answer.ok) return told as T;
  const fields = (typeof told === "object" && told !== null ? told : {}) as Record<string, unknown>;
  const word = (name: string): string => (typeof fields[name] === "string" ? (fields[name] as string) : "");
  const details = fields["details"];
  throw new Problem(
    answer.status,
    word("code"),
    word("detail") || word("title") || `The daemon answered ${answer.status}.`,
    word("hint"),
    typeof details === "object" && details !== null ? (details as Record<string, unknown>) : {},
  );
}

/** Whatever was thrown, as a problem. */
export function asProblem(error: unknown): Problem {
  return error instanceof Problem ? error : new Problem(0, "internal", String(error), "");
}
