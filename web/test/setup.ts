/** The little of a browser that modules touch when they are loaded. */

const nothing = (): void => undefined;
Object.assign(globalThis, {
  addEventListener: nothing,
  document: { addEventListener: nothing, documentElement: { dataset: {} }, visibilityState: "visible" },
  localStorage: { getItem: () => null, setItem: nothing, removeItem: nothing },
  sessionStorage: { getItem: () => null, setItem: nothing, removeItem: nothing },
  matchMedia: () => ({ matches: false, addEventListener: nothing }),
});
