/** What you tell an agent: the prompts that wait, which can still be changed, and the next one. */

import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import { asProblem, change, newKey, type Problem } from "../api/client";
import type { AcceptedPrompt, Prompt, WholeSession } from "../api/types";
import type { SessionStore } from "../state/session";
import { readOnly } from "../state/store";
import { act } from "../state/toasts";
import { Until } from "./small";

export function Composer({ store, whole }: { store: SessionStore; whole: WholeSession }) {
  const text = useSignal("");
  const isBusy = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const key = useRef(newKey());
  const area = useRef<HTMLTextAreaElement>(null);
  const queued = whole.session.prompts.filter((one) => one.state === "queued");
  const isOver = whole.state === "COMPLETED";
  const away = whole.away;
  const wanted = away === undefined ? (whole.is_running ? "Tell the agent something" : "A prompt brings the agent back")
    : away.may_be_gone ? "Recorded until a host takes it" : `Goes to host ${away.host}`;
  const send = async (): Promise<void> => {
    const said = text.value.trim();
    if (said === "" || isBusy.value) return;
    isBusy.value = true;
    try {
      const told = await change<AcceptedPrompt>("POST", `/sessions/${whole.id}/prompts`, { text: said }, key.current);
      if (away !== undefined) store.told.value = { text: told.mail?.told ?? `Host ${away.host} has your prompt.`, hint: "", isBad: false };
      key.current = newKey(); // the next one is another prompt; the same one sent again is not
      text.value = "";
      problem.value = null;
      grow();
      void store.renew();
    } catch (error) {
      problem.value = asProblem(error);
    } finally {
      isBusy.value = false;
      area.current?.focus();
    }
  };
  const grow = (): void => {
    const there = area.current;
    if (there === null) return;
    there.style.height = "auto";
    there.style.height = `${Math.min(240, there.scrollHeight)}px`;
  };
  return (
    <div class="composer">
      {queued.length > 0 && <Queue store={store} session={whole.id} queued={queued} isFixed={away !== undefined} />}
      {queued.length > 0 && away !== undefined && <p class="small muted">What waits is changed on host {away.host}: <code>rekindle queue {whole.id}</code></p>}
      {problem.value !== null && <div class="problem small" role="alert">{problem.value.message} {problem.value.hint} Your text is still here.</div>}
      {readOnly.value ? <p class="small muted">This link is for reading only.</p> : isOver ? <p class="small muted">This session is completed.</p> : (
        <form onSubmit={(event) => { event.preventDefault(); void send(); }}>
          <textarea ref={area} rows={1} aria-label="Tell the agent something" placeholder={wanted} value={text.value}
            onInput={(event) => { text.value = event.currentTarget.value; grow(); }}
            onKeyDown={(event) => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); void send(); } }} />
          <button type="submit" class="button main" disabled={isBusy.value || text.value.trim() === ""}>{isBusy.value ? "Sending …" : "Send ⏎"}</button>
        </form>
      )}
    </div>
  );
}

function Queue({ store, session, queued, isFixed }: { store: SessionStore; session: string; queued: readonly Prompt[]; isFixed: boolean }) {
  const ids = queued.map((one) => one.id);
  const move = async (at: number, by: number): Promise<void> => {
    const next = ids.slice();
    const [one] = next.splice(at, 1);
    if (one !== undefined) next.splice(at + by, 0, one);
    await act("PUT", `/sessions/${session}/queue`, { prompts: next });
    await store.renew();
  };
  return <ol class="queue" aria-label="Prompts that wait">{queued.map((one, at) => <Waiting key={one.id} store={store} session={session} prompt={one} at={at} count={queued.length} move={move} isFixed={isFixed} />)}</ol>;
}

function Waiting(props: { store: SessionStore; session: string; prompt: Prompt; at: number; count: number; move: (at: number, by: number) => Promise<void>; isFixed: boolean }) {
  const { store, session, prompt, at } = props;
  const draft = useSignal<string | null>(null);
  const path = `/sessions/${session}/prompts/${prompt.id}`;
  const save = async (): Promise<void> => {
    if (draft.value !== null && (await act("PATCH", path, { text: draft.value })) !== null) draft.value = null;
    await store.renew();
  };
  const withdraw = async (): Promise<void> => {
    await act("DELETE", path, undefined, "Withdrawn: it will never be sent.");
    await store.renew();
  };
  const isOurs = prompt.by === "rekindle";
  return (
    <li data-prompt={prompt.id}>
      <span class="faint numbers small">{at + 1}.</span>
      {draft.value !== null ? (
        <textarea class="field" rows={3} aria-label="Change the prompt" value={draft.value} onInput={(event) => (draft.value = event.currentTarget.value)} />
      ) : <span class="text">{prompt.text}{prompt.after !== null && <span class="small muted"> · not before <Until at={prompt.after} /></span>}{isOurs && <span class="small muted"> · from rekindle</span>}</span>}
      {!readOnly.value && !isOurs && !props.isFixed && (
        <span class="acts">
          {draft.value !== null ? (
            <><button type="button" class="link" onClick={() => void save()}>save</button><button type="button" class="link" onClick={() => (draft.value = null)}>discard</button></>
          ) : (
            <>
              <button type="button" class="link" onClick={() => (draft.value = prompt.text)}>edit</button>
              <button type="button" class="link" onClick={() => void withdraw()}>withdraw</button>
              {props.count > 1 && <button type="button" class="link" aria-label="Move up" disabled={at === 0} onClick={() => void props.move(at, -1)}>↑</button>}
              {props.count > 1 && <button type="button" class="link" aria-label="Move down" disabled={at === props.count - 1} onClick={() => void props.move(at, 1)}>↓</button>}
            </>
          )}
        </span>
      )}
    </li>
  );
}
