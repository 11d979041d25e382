/** The screen: whether it is a phone's, and which theme the user wants. */

import { effect, signal } from "@preact/signals";

const narrow = matchMedia("(max-width: 760px)");
export const isPhone = signal(narrow.matches);
narrow.addEventListener("change", (event) => (isPhone.value = event.matches));

export type Theme = "system" | "light" | "dark";
const KEY = "rekindle.theme";
const known = localStorage.getItem(KEY);
export const theme = signal<Theme>(known === "light" || known === "dark" ? known : "system");

effect(() => {
  if (theme.value === "system") {
    delete document.documentElement.dataset["theme"];
    localStorage.removeItem(KEY);
  } else {
    document.documentElement.dataset["theme"] = theme.value;
    localStorage.setItem(KEY, theme.value);
  }
});

export function nextTheme(): void {
  theme.value = theme.value === "system" ? "dark" : theme.value === "dark" ? "light" : "system";
}
