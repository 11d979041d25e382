/** Short messages at the edge of the screen: what was done, or why it was not. */

import { signal } from "@preact/signals";

import { asProblem, change, newKey } from "../api/client";
import { isRecorded } from "./away";

export interface Toast { id: number; text: string; hint: string; isBad: boolean }

export const toasts = signal<readonly Toast[]>([]);
let number = 0;

export function say(text: string, hint = "", isBad = false): void {
  const toast = { id: (number += 1), text, hint, isBad };
  toasts.value = [...toasts.value.slice(-3), toast];
  setTimeout(() => drop(toast.id), isBad || hint !== "" ? 12_000 : 4000);
}

export function drop(id: number): void {
  toasts.value = toasts.value.filter((one) => one.id !== id);
}

/** Do something once, and say what went wrong. Returns the answer, or null. */
export async function act<T>(method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, body?: unknown, done = ""): Promise<T | null> {
  try {
    const told = await change<T>(method, path, body, newKey());
    if (done) say(done);
    return told ?? ({} as T);
  } catch (error) {
    const problem = asProblem(error);
    say(problem.message, problem.hint, !isRecorded(problem.code));
    return null;
  }
}
