/** Ctrl-K: every session, feature, place and deed by a few letters. */

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { atOnce } from "../state/at_once";
import { nextTheme, theme } from "../state/media";
import { isHelpOpen, isPaletteOpen, onResume, SHORTCUTS } from "../state/keys";
import { newestFirst } from "../state/live";
import { go, toQuestion, toSession } from "../state/router";
import { inbox, sessions } from "../state/store";
import { matches } from "../text/matching";

interface Choice { what: string; text: string; more: string; act: () => void }

function choices(): Choice[] {
  const to = (text: string, path: string, more = ""): Choice => ({ what: "go to", text, more, act: () => go(path) });
  const asked = (inbox.value?.questions ?? []).map((one) => ({ what: "answer", text: one.title, more: one.feature ?? "", act: () => go(toQuestion(one.id)) }));
  const known = newestFirst(sessions.value?.values() ?? []).map((one) => ({ what: "session", text: one.title || one.id, more: `${one.status} · ${one.agent}${one.feature ? ` · ${one.feature}` : ""} ${one.id}`, act: () => go(toSession(one.id)) }));
  const resume = onResume.value;
  return [
    ...asked,
    ...(resume === null ? [] : [{ what: "do", text: "Resume this session", more: "r", act: resume }]),
    to("Needs you", "/", "g i"), to("Sessions", "/sessions", "g s"), to("Features", "/f", "g f"), to("Jobs", "/jobs", "g j"),
    to("Search", "/search", "/"), to("Report", "/report", "g r"), to("Machine", "/machine", "g m"),
    ...known,
    { what: "do", text: `Switch the theme (now: ${theme.value})`, more: "", act: nextTheme },
    { what: "do", text: "Show the shortcuts", more: "?", act: () => (isHelpOpen.value = true) },
  ];
}

export function Palette() {
  const dialog = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const typed = useSignal("");
  const at = useSignal(0);
  const isOpen = isPaletteOpen.value;
  useLayoutEffect(() => {
    if (isOpen) {
      typed.value = "";
      at.value = 0;
      dialog.current?.showModal();
    } else dialog.current?.close();
  }, [isOpen]);
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [at.value]);
  const fitting = (): Choice[] => matches(choices(), typed.value, (one) => `${one.what} ${one.text} ${one.more}`).slice(0, 40);
  const shown = isOpen ? fitting() : [];
  const choose = (one: Choice | undefined): void => atOnce(() => {
    isPaletteOpen.value = false;
    if (one !== undefined) one.act();
    else if (typed.value.trim()) go(`/search?q=${encodeURIComponent(typed.value.trim())}`);
  });
  const key = (event: KeyboardEvent): void => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move !== undefined) {
      event.preventDefault();
      at.value = Math.min(shown.length - 1, Math.max(0, at.value + move));
    } else if (event.key === "Enter") {
      event.preventDefault();
      choose(fitting()[at.value]); // what fits the letters by now, drawn or not
    }
  };
  return (
    <dialog class="palette" ref={dialog} aria-label="Find or do" onClose={() => (isPaletteOpen.value = dialog.current?.open ?? false)}
      onClick={(event) => { if (event.target === dialog.current) isPaletteOpen.value = false; }}>
      <input value={typed.value} placeholder="Go to, answer, do …" role="combobox" aria-expanded="true" aria-controls="palette-list"
        aria-activedescendant={`choice-${at.value}`} aria-label="Go to, answer, do" autocomplete="off" spellcheck={false}
        onInput={(event) => { typed.value = event.currentTarget.value; at.value = 0; }} onKeyDown={key} />
      <ul id="palette-list" role="listbox" ref={list} aria-label="Choices">
        {shown.map((one, n) => (
          <li key={n} id={`choice-${n}`} role="option" aria-selected={n === at.value} onClick={() => choose(one)} onMouseMove={() => (at.value = n)}>
            <span class="what">{one.what}</span><span class="clip grow">{one.text}</span><span class="tiny faint clip" style={{ maxWidth: "40%" }}>{one.more}</span>
          </li>
        ))}
        {isOpen && shown.length === 0 && <li role="option" aria-selected="true" onClick={() => choose(undefined)}><span class="what">search</span><span>“{typed.value}” in all conversations</span></li>}
      </ul>
    </dialog>
  );
}

export function Help() {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = isHelpOpen.value;
  useLayoutEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog class="help" ref={dialog} aria-label="Shortcuts" onClose={() => (isHelpOpen.value = false)}>
      <div class="row"><h3 class="grow">Shortcuts</h3><button type="button" class="button quiet small" onClick={() => (isHelpOpen.value = false)}>Close</button></div>
      <dl>{SHORTCUTS.map(([keys, text]) => [<dt key={keys}>{keys.split(/\s+/).map((one) => <kbd key={one} style={{ marginLeft: "4px" }}>{one}</kbd>)}</dt>, <dd key={text}>{text}</dd>])}</dl>
    </dialog>
  );
}
