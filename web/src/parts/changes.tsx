/** What changed between any two snapshots of the work tree, with restore; and a copy of the session from an answer on. */

import { useSignal } from "@preact/signals";

import type { Difference, ForkPoints, SessionView, Snapshot, SnapshotList } from "../api/types";
import { useFetched } from "../state/fetched";
import { go, toSession } from "../state/router";
import { now, readOnly } from "../state/store";
import { act } from "../state/toasts";
import { parseDiff, sums } from "../text/diff";
import { clock } from "../text/time";
import { DiffFiles } from "./output";
import { Empty, Skeleton, Trouble } from "./small";

export function Changes({ row }: { row: SessionView }) {
  const list = useFetched<SnapshotList>(`/sessions/${row.id}/snapshots`, {}, 5);
  const chosen = useSignal<{ a: string | null; b: string | null }>({ a: null, b: null });
  const kept = list.data.value?.snapshots ?? [];
  const first = kept[0];
  const a = chosen.value.a ?? first?.id ?? null;
  const b = chosen.value.b;
  const found = useFetched<Difference>(a === null ? null : `/sessions/${row.id}/diff`, { a, b }, b === null ? 5 : 0);
  if (list.data.value === null) return list.problem.value !== null ? <Trouble problem={list.problem.value} retry={list.again} /> : <Skeleton />;
  if (first === undefined) return <Empty>No snapshots yet. In a git repository, one is taken before and after every turn.</Empty>;
  const before = kept[kept.length - 1];
  const name = (one: Snapshot): string => `${clock(one.at, now.value)} · ${one.reason}`;
  const files = found.data.value !== null ? parseDiff(found.data.value.diff) : null;
  const total = files !== null ? sums(files) : null;
  const restore = async (at: Snapshot): Promise<void> => {
    if (confirm(`Put the files back as they were at ${name(at)}?\n\nThe files as they are now are kept as a snapshot first.`)) {
      await act("POST", `/sessions/${row.id}/restore`, { at: at.id }, "Restored. The files as they were before are kept as a snapshot.");
      list.again();
      found.again();
    }
  };
  const picked = kept.find((one) => one.id === a);
  return (
    <div>
      <div class="pick">
        <button type="button" class="button small" onClick={() => (chosen.value = { a: first.id, b: null })} aria-pressed={a === first.id && b === null}>since the start</button>
        {before !== undefined && <button type="button" class="button small" onClick={() => (chosen.value = { a: before.id, b: null })} aria-pressed={a === before.id && a !== first.id && b === null}>since the last snapshot</button>}
        <label class="row">from <select value={a ?? ""} onChange={(event) => (chosen.value = { a: event.currentTarget.value, b })}>{kept.map((one) => <option key={one.id} value={one.id}>{name(one)}</option>)}</select></label>
        <label class="row">to <select value={b ?? ""} onChange={(event) => (chosen.value = { a, b: event.currentTarget.value || null })}><option value="">as it is now</option>{kept.map((one) => <option key={one.id} value={one.id}>{name(one)}</option>)}</select></label>
        {picked !== undefined && !readOnly.value && <button type="button" class="button small" disabled={row.is_running} onClick={() => void restore(picked)}>Restore {clock(picked.at, now.value)}</button>}
        {picked !== undefined && !readOnly.value && row.is_running && <span class="muted">To restore files, stop the agent first.</span>}
      </div>
      {found.problem.value !== null && <Trouble problem={found.problem.value} retry={found.again} />}
      {files === null ? found.problem.value === null && <Skeleton /> : files.length === 0 ? <Empty>No differences.</Empty> : (
        <>
          <p class="small muted numbers" style={{ marginBottom: "8px" }}>{files.length} {files.length === 1 ? "file" : "files"} · <span class="sum-add">+{total?.added}</span> <span class="sum-del">−{total?.removed}</span>{found.data.value?.truncated ? " · the rest is too long to show" : ""}</p>
          <DiffFiles files={files} isOpen={files.length <= 6} />
        </>
      )}
      <Fork id={row.id} />
    </div>
  );
}

/** A copy that goes on after one of the answers; the session stays as it is. */
function Fork({ id }: { id: string }) {
  const isOpen = useSignal(false);
  const at = useSignal("");
  const text = useSignal("");
  const found = useFetched<ForkPoints>(isOpen.value ? `/sessions/${id}/points` : null);
  if (readOnly.value) return null;
  const points = found.data.value?.points ?? [];
  const chosen = at.value || points[points.length - 1]?.id || "";
  const fork = async (): Promise<void> => {
    const made = await act<SessionView>("POST", `/sessions/${id}/fork`, { at: chosen, prompt: text.value }, "The copy has started.");
    if (made !== null && made.id) go(toSession(made.id));
  };
  return (
    <details style={{ marginTop: "16px" }} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
      <summary class="small muted">Fork: start a copy of this session after one of its answers</summary>
      <div class="stack" style={{ marginTop: "8px" }}>
        {found.problem.value !== null && <Trouble problem={found.problem.value} />}
        {points.length > 0 && (
          <>
            <label class="stack small">after the answer<select class="field" value={chosen} onChange={(event) => (at.value = event.currentTarget.value)}>{points.map((one, n) => <option key={one.id} value={one.id}>{n + 1}. {one.text.slice(0, 80)}</option>)}</select></label>
            <label class="stack small">prompt for the copy<textarea class="field" rows={2} value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} /></label>
            <div><button type="button" class="button" disabled={text.value.trim() === ""} onClick={() => void fork()}>Fork</button></div>
          </>
        )}
        {found.data.value !== null && points.length === 0 && <p class="small muted">The agent's record has no answer to go back to.</p>}
      </div>
    </details>
  );
}
