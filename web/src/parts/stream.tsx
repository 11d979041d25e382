/**
 * The conversation as it streams. It follows the end until somebody scrolls up; then a button says how much is new.
 * Of a long conversation only a part is on the page: the rest comes when one scrolls there.
 */

import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { blocks, isAtEnd } from "../state/conversation";
import { isPhone } from "../state/media";
import type { SessionStore } from "../state/session";
import { BlockView } from "./blocks";
import { Empty } from "./small";

const NEAR = 120;

function fromEnd(): number {
  return document.documentElement.scrollHeight - innerHeight - scrollY;
}

export function Stream({ store, target, agent, isOver, isAsking = false }: { store: SessionStore; target: number | null; agent: string; isOver: boolean; isAsking?: boolean }) {
  const follows = useSignal(target === null);
  const seen = useSignal(0);
  const top = useRef<HTMLDivElement>(null);
  const bottom = useRef<HTMLDivElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const anchor = useRef<{ n: number; top: number } | null>(null);
  const shown = useComputed(() => blocks(store.loaded.value.entries, isOver && isAtEnd(store.loaded.value)));
  const loaded = store.loaded.value;
  const atEnd = isAtEnd(loaded);

  useEffect(() => {
    const look = (): void => {
      const isNear = fromEnd() < NEAR && isAtEnd(store.loaded.peek());
      follows.value = isNear;
      if (isNear) seen.value = store.loaded.peek().total;
    };
    addEventListener("scroll", look, { passive: true });
    return () => removeEventListener("scroll", look);
  }, [store]);

  // earlier and later parts, when one comes near them
  useEffect(() => {
    const eye = new IntersectionObserver((found) => {
      for (const one of found) {
        if (!one.isIntersecting) continue;
        if (one.target === top.current) {
          hold();
          void store.earlier();
        } else void store.later();
      }
    }, { rootMargin: "600px 0px" });
    if (top.current !== null) eye.observe(top.current);
    if (bottom.current !== null) eye.observe(bottom.current);
    return () => eye.disconnect();
  }, [store, loaded.from, loaded.entries.length === 0, atEnd]);

  /** Remember where the first block on the screen is, so that what is put above it moves nothing. */
  const hold = (): void => {
    const all = frame.current?.querySelectorAll<HTMLElement>("[data-n]") ?? [];
    const first = [...all].find((one) => one.getBoundingClientRect().bottom > 60);
    anchor.current = first === undefined ? null : { n: Number(first.dataset["n"]), top: first.getBoundingClientRect().top };
  };

  useLayoutEffect(() => {
    const held = anchor.current;
    if (held !== null) {
      anchor.current = null;
      const there = document.getElementById(`m${held.n}`);
      if (there !== null) scrollBy(0, there.getBoundingClientRect().top - held.top);
    } else if (follows.value && atEnd) {
      scrollTo(0, document.documentElement.scrollHeight);
    }
    if (follows.value) seen.value = loaded.total;
  }, [loaded]);

  useEffect(() => {
    if (target === null) return;
    follows.value = false;
    void store.around(target).then(() => requestAnimationFrame(() => {
      const there = nearest(target);
      there?.scrollIntoView({ block: "center" });
    }));
  }, [target, store]);

  const fresh = loaded.total - seen.value;
  return (
    <>
      <div class="stream" ref={frame} role="log" aria-label="Conversation" aria-live="off" data-from={loaded.from} data-total={loaded.total}>
        {loaded.from > 0 && <div ref={top} class="small faint" style={{ textAlign: "center" }}>{loaded.from.toLocaleString("en")} earlier entries …</div>}
        {shown.value.map((block, at) => isAsking && block.kind === "question" && at === shown.value.length - 1 ? null : <BlockView key={block.n} block={block} session={store.id} agent={agent} isTarget={block.n === target} />)}
        {!atEnd && <div ref={bottom} class="small faint" style={{ textAlign: "center" }}>{(loaded.total - loaded.from - loaded.entries.length).toLocaleString("en")} later entries …</div>}
        {loaded.total === 0 && <Empty>Nothing has been said yet.</Empty>}
        {(!follows.value || !atEnd) && loaded.total > 0 && (
          <button type="button" class="button main newer" style={{ bottom: `${above()}px` }} onClick={() => { follows.value = true; void (atEnd ? Promise.resolve() : store.toEnd()).then(() => scrollTo(0, document.documentElement.scrollHeight)); }}>
            {fresh > 0 && seen.value > 0 ? `${fresh.toLocaleString("en")} new ↓` : "To the end ↓"}
          </button>
        )}
      </div>
    </>
  );
}

/** How high what is below the conversation stands: the prompts that wait, and the next one. */
function above(): number {
  return (document.querySelector<HTMLElement>(".composer")?.offsetHeight ?? 64) + (isPhone.value ? 64 : 12);
}

/** The block that has this entry: a piece of an answer is in the block that began before it. */
function nearest(n: number): HTMLElement | null {
  let found: HTMLElement | null = null;
  for (const one of document.querySelectorAll<HTMLElement>(".stream [data-n]")) {
    if (Number(one.dataset["n"]) > n) break;
    found = one;
  }
  return found;
}
