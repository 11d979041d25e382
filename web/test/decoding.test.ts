import { expect, test } from "vitest";

import { decoded } from "../src/api/decoding";

test("no text turns the direction of what stands behind it, written out or escaped", () => {
  const hidden = "rm \u202E/pmt fr-\u2066 x\u2069";
  const shown = "rm \uFFFD/pmt fr-\uFFFD x\uFFFD";
  expect(decoded(JSON.stringify({ title: hidden, options: [{ label: hidden }] }))).toEqual({
    title: shown,
    options: [{ label: shown }],
  });
  expect(decoded('["\\u202e\\u2067"]')).toEqual(["\uFFFD\uFFFD"]);
});

test("other languages and ordinary values stay as they are", () => {
  const told = { text: "שלום \u200F مرحبا", seq: 3, none: null, yes: true };
  expect(decoded(JSON.stringify(told))).toEqual(told);
});

test("what is not JSON is not taken for something", () => {
  expect(() => decoded("{")).toThrow(SyntaxError);
});
