/** A unified diff, taken apart for colours and counts. Pure; whatever does not look like a diff stays text. */

export type LineKind = "add" | "del" | "same" | "hunk" | "meta";

export interface DiffLine {
  kind: LineKind;
  text: string;
  /** Line numbers before and after; absent where the line is in neither. */
  before?: number;
  after?: number;
}

export interface DiffFile {
  path: string;
  /** Where it was before, if it has moved. */
  from?: string;
  state: "changed" | "new" | "gone" | "moved";
  isBinary: boolean;
  added: number;
  removed: number;
  lines: DiffLine[];
}

const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;

/** Whether a tool's output is a diff. */
export function looksLikeDiff(text: string): boolean {
  const head = text.slice(0, 20_000);
  return /^diff --git /m.test(head) || (/^--- .+\n\+\+\+ /m.test(head) && /^@@ -\d/m.test(head));
}

/** The files of a diff in its order. */
export function parseDiff(text: string): DiffFile[] {
  const files: DiffFile[] = [];
  let file: DiffFile | null = null;
  let before = 0;
  let after = 0;
  let leftBefore = 0;
  let leftAfter = 0;
  const begin = (path: string): DiffFile => {
    const made: DiffFile = { path, state: "changed", isBinary: false, added: 0, removed: 0, lines: [] };
    files.push(made);
    leftBefore = leftAfter = 0;
    return made;
  };
  const all = text.split("\n");
  if (all[all.length - 1] === "") all.pop();
  for (const line of all) {
    if (file !== null && (leftBefore > 0 || leftAfter > 0) && !line.startsWith("diff --git ")) {
      const mark = line[0] ?? " ";
      if (mark === "+") {
        file.lines.push({ kind: "add", text: line.slice(1), after: after++ });
        file.added += 1;
        leftAfter -= 1;
        continue;
      }
      if (mark === "-") {
        file.lines.push({ kind: "del", text: line.slice(1), before: before++ });
        file.removed += 1;
        leftBefore -= 1;
        continue;
      }
      if (mark === " ") {
        file.lines.push({ kind: "same", text: line.slice(1), before: before++, after: after++ });
        leftBefore -= 1;
        leftAfter -= 1;
        continue;
      }
      if (mark === "\\") {
        file.lines.push({ kind: "meta", text: line.slice(2) });
        continue;
      }
    }
    const hunk = HUNK.exec(line);
    if (hunk !== null) {
      file ??= begin("");
      before = Number(hunk[1]);
      after = Number(hunk[3]);
      leftBefore = hunk[2] === undefined ? 1 : Number(hunk[2]);
      leftAfter = hunk[4] === undefined ? 1 : Number(hunk[4]);
      file.lines.push({ kind: "hunk", text: line });
    } else if (line.startsWith("diff --git ")) {
      file = begin(gitPath(line));
    } else if (line.startsWith("--- ")) {
      if (file === null || file.lines.some((one) => one.kind === "hunk")) file = begin(side(line) ?? "");
      else if (file.path === "") file.path = side(line) ?? "";
    } else if (file === null) {
      continue; // what stands before the first file
    } else if (line.startsWith("+++ ")) {
      const path = side(line);
      if (path === null) file.state = "gone";
      else file.path = path;
    } else if (line.startsWith("new file mode")) {
      file.state = "new";
    } else if (line.startsWith("deleted file mode")) {
      file.state = "gone";
    } else if (line.startsWith("rename from ")) {
      file.from = unquoted(line.slice(12));
      file.state = "moved";
    } else if (line.startsWith("rename to ")) {
      file.path = unquoted(line.slice(10));
    } else if (line.startsWith("Binary files ") || line.startsWith("GIT binary patch")) {
      file.isBinary = true;
    } else if (line.startsWith("\\ ")) {
      file.lines.push({ kind: "meta", text: line.slice(2) });
    }
  }
  return files;
}

/** How many lines were added and removed in all. */
export function sums(files: readonly DiffFile[]): { added: number; removed: number } {
  return files.reduce((sum, one) => ({ added: sum.added + one.added, removed: sum.removed + one.removed }), {
    added: 0,
    removed: 0,
  });
}

/** The path in a `---` or `+++` line; null for /dev/null. */
function side(line: string): string | null {
  const path = unquoted(line.slice(4).replace(/\t.*$/, ""));
  return path === "/dev/null" ? null : path.replace(/^[ab]\//, "");
}

function gitPath(line: string): string {
  const rest = line.slice("diff --git ".length);
  const quoted = /^"a\/.*" "b\/(.*)"$/.exec(rest) ?? /^a\/.* "b\/(.*)"$/.exec(rest);
  if (quoted !== null) return unquoted(`"${quoted[1] ?? ""}"`);
  // `a/X b/X`: both halves are the same unless the file has moved, which the next lines say.
  const half = (rest.length - 1) / 2;
  if (Number.isInteger(half) && rest.slice(2, half) === rest.slice(half + 3)) return rest.slice(2, half);
  return rest.replace(/^.* b\//, "");
}

function unquoted(path: string): string {
  if (!path.startsWith('"') || !path.endsWith('"')) return path;
  const raw = path.slice(1, -1);
  const out: number[] = [];
  const encoder = new TextEncoder();
  for (let at = 0; at < raw.length; at += 1) {
    if (raw[at] !== "\\") {
      const point = raw.codePointAt(at) ?? 0;
      out.push(...encoder.encode(String.fromCodePoint(point)));
      if (point > 0xffff) at += 1;
      continue;
    }
    const octal = /^[0-7]{3}/.exec(raw.slice(at + 1));
    if (octal !== null) {
      out.push(parseInt(octal[0], 8));
      at += 3;
    } else {
      at += 1;
      const named: Record<string, number> = { n: 10, t: 9, r: 13 };
      const char = raw[at] ?? "";
      out.push(named[char] ?? char.charCodeAt(0));
    }
  }
  return new TextDecoder().decode(new Uint8Array(out));
}
