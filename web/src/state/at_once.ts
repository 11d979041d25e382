/** For the keyboard: somebody who types fast presses the next key before the page has drawn what the last one did. */

import { options } from "preact";

/** Do something, and have the page show it when this returns, not with the next frame. */
export function atOnce(act: () => void): void {
  const before = options.debounceRendering;
  options.debounceRendering = (render) => render();
  try {
    act();
  } finally {
    if (before === undefined) delete options.debounceRendering;
    else options.debounceRendering = before;
  }
}
