/** What a tool printed: a diff in colours, anything else as text, folded after 20 lines. */

import { useSignal } from "@preact/signals";

import { looksLikeDiff, parseDiff, type DiffFile } from "../text/diff";
import { Copy } from "./small";

const FOLD = 20;
const MOST_LINES = 4000;

export function Output({ text }: { text: string }) {
  if (looksLikeDiff(text)) return <DiffFiles files={parseDiff(text)} isOpen />;
  return <Folded text={text} />;
}

export function Folded({ text }: { text: string }) {
  const all = useSignal(false);
  const lines = text.replace(/\n$/, "").split("\n");
  const isLong = lines.length > FOLD + 4;
  const shown = isLong && !all.value ? lines.slice(0, FOLD) : lines.slice(0, MOST_LINES);
  return (
    <div class="code output">
      <pre tabIndex={0}>{shown.join("\n")}</pre>
      <Copy text={text} what="Copy the output" />
      {isLong && (
        <button type="button" class="show-all" aria-expanded={all.value} onClick={() => (all.value = !all.value)}>
          {all.value ? "show less" : `show all ${lines.length.toLocaleString("en")} lines`}
        </button>
      )}
      {all.value && lines.length > MOST_LINES && <p class="small muted pad">The first {MOST_LINES.toLocaleString("en")} lines; the copy button has all of them.</p>}
    </div>
  );
}

export function DiffFiles({ files, isOpen = false }: { files: readonly DiffFile[]; isOpen?: boolean }) {
  return <div>{files.map((file, at) => <FileDiff key={`${at} ${file.path}`} file={file} isOpen={isOpen && files.length <= 12} />)}</div>;
}

const STATE: Record<DiffFile["state"], string> = { changed: "", new: "new", gone: "deleted", moved: "moved" };

function FileDiff({ file, isOpen }: { file: DiffFile; isOpen: boolean }) {
  const open = useSignal(isOpen);
  const all = useSignal(false);
  const lines = all.value ? file.lines.slice(0, MOST_LINES) : file.lines.slice(0, 120);
  return (
    <details class="diff-file" open={open.value} onToggle={(event) => (open.value = event.currentTarget.open)}>
      <summary>
        <span class="path clip">{file.from !== undefined && file.from !== file.path ? `${file.from} → ${file.path}` : file.path}</span>
        {STATE[file.state] && <span class="tag">{STATE[file.state]}</span>}
        <span class="diff-sums numbers"><span class="add">+{file.added}</span> <span class="del">−{file.removed}</span></span>
      </summary>
      {open.value && (file.isBinary ? <p class="small muted pad">A binary file: its contents are not shown.</p> : (
        <div class="diff-lines" tabIndex={0} role="region" aria-label={`Changes of ${file.path}`}>
          {lines.map((line, at) => line.kind === "hunk" || line.kind === "meta" ? (
            <div key={at} class={line.kind}><span>{line.text}</span></div>
          ) : (
            <div key={at} class={line.kind}>
              <span class="no">{line.before ?? ""}</span><span class="no">{line.after ?? ""}</span>
              <span aria-hidden="true">{line.kind === "add" ? "+" : line.kind === "del" ? "−" : " "}</span><span>{line.text}</span>
            </div>
          ))}
        </div>
      ))}
      {open.value && !all.value && file.lines.length > lines.length && (
        <button type="button" class="show-all" onClick={() => (all.value = true)}>show all {file.lines.length.toLocaleString("en")} lines</button>
      )}
    </details>
  );
}
