import { render } from "preact";
import { describe, expect, it } from "vitest";

import { rendered, safeLink } from "../src/parts/markdown";

/** What the elements of a text are: tags, attributes and text, without a browser. */
function shape(node: unknown): unknown {
  if (node === null || node === undefined || typeof node === "boolean") return [];
  if (typeof node === "string" || typeof node === "number") return [String(node)];
  if (Array.isArray(node)) return node.flatMap((one) => shape(one) as unknown[]);
  const { type, props } = node as { type: unknown; props: Record<string, unknown> };
  const { children, ...rest } = props;
  if (typeof type === "function") return [[`<${type.name}>`, rest["text"] ?? ""]];
  return [[type, ...(rest["href"] ? [rest["href"], rest["rel"]] : []), ...(shape(children) as unknown[])]];
}
const of = (text: string): string => JSON.stringify(shape(rendered(text)));

describe("Markdown", () => {
  it("becomes elements", () => {
    expect(render).toBeTypeOf("function");
    expect(of("**bold** and `code`")).toBe('[["p",["strong","bold"]," and ",["code","code"]]]');
    expect(of("- one\n- two")).toBe('[["ul",["li",["span","one"]],["li",["span","two"]]]]');
    expect(of("```py\na < b\n```")).toBe('[["<Code>","a < b"]]');
  });
  it("keeps HTML as text", () => {
    for (const text of ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a <b onclick=x>b</b> c", "<!-- x -->"]) {
      const found = of(text);
      expect(found).not.toMatch(/\["(script|img|b)"/);
      expect((JSON.parse(found) as unknown[]).flat(9).join("")).toContain(text);
    }
  });
  it("follows http and https, and nothing else", () => {
    expect(safeLink("https://example.org/a?b=1")).toBe("https://example.org/a?b=1");
    for (const bad of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "vbscript:x", "//evil.example", "/api/v1/x", "file:///etc/passwd", "https&#58;//x", " javascript:x"]) {
      expect(safeLink(bad)).toBeNull();
    }
    expect(of("[x](https://example.org)")).toContain('"https://example.org/","noopener noreferrer"');
    expect(of("[x](javascript:alert(1))")).not.toContain('["a"');
    expect(of("![x](https://example.org/a.png)")).toContain('["a"');
    expect(of("![x](javascript:alert(1))")).not.toContain('["a"');
  });
  it("shows entities and escapes as they were written", () => {
    expect(of("a < b && c > d")).toBe('[["p","a < b && c > d"]]');
    expect(of("`a < b`")).toBe('[["p",["code","a < b"]]]');
  });
  it("survives what is odd", () => {
    for (const text of ["", "[".repeat(2000), "*".repeat(2000), "> ".repeat(400), "\u0000\u202e", "|a|\n|-|\n|<script>|", "1. ".repeat(300)]) expect(() => of(text)).not.toThrow();
  });
});
