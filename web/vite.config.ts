import preact from "@preact/preset-vite";
import { defineConfig } from "vitest/config";

// The server sends `script-src 'self'; style-src 'self'`: nothing may be inlined, and no asset may become a data: URL.
export default defineConfig({
  plugins: [preact({ devToolsEnabled: false, prefreshEnabled: false })],
  base: "/",
  test: { include: ["test/**/*.test.{ts,tsx}"], environment: "node", setupFiles: ["test/setup.ts"] },
  build: {
    outDir: "../src/rekindle/page",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    reportCompressedSize: false,
  },
});
