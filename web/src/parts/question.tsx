/**
 * A question, answered in place. No button can be used before everything that it asks about was on the screen, and an
 * answer counts once: the page says so, also when somebody else was faster.
 */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { asProblem, change, newKey, type Problem } from "../api/client";
import { clientName } from "../api/secret";
import type { AnsweredQuestion, Question, QuestionOption } from "../api/types";
import { isRecorded } from "../state/away";
import { go, toFeature, toQuestion, toSession } from "../state/router";
import { askInbox, now, readOnly, sessions } from "../state/store";
import { capital, isCommand, nameOf, questionKind, shortPath, whoseElse } from "../text/words";
import { absolute, clock } from "../text/time";
import { OnHost } from "./away";
import { Ago, Until } from "./small";

type Step =
  | { at: "open" }
  | { at: "sending"; option: QuestionOption }
  | { at: "counted"; option: string; when: number; told: string[] }
  | { at: "late"; text: string }
  | { at: "failed"; option: QuestionOption; problem: Problem };

/** Answers of this tab, by question: a card that is drawn again knows that its answer was given. */
const given = new Map<string, Step>();
const keys = new Map<string, string>();

export function useAnswer(question: Question) {
  const step = useSignal<Step>(given.get(question.id) ?? { at: "open" });
  const text = useSignal("");
  const set = (next: Step): void => {
    if (next.at === "counted" || next.at === "late") given.set(question.id, next);
    step.value = next;
  };
  const answer = async (option: QuestionOption): Promise<void> => {
    if (step.value.at !== "open" && step.value.at !== "failed") return; // a tap counts once
    set({ at: "sending", option });
    const name = `${question.id} ${option.id} ${text.value}`;
    const key = keys.get(name) ?? newKey();
    keys.set(name, key);
    try {
      const body = { option: option.id, text: question.takes_text.includes(option.id) ? text.value : "", client: clientName() };
      const told = await change<AnsweredQuestion>("POST", `/questions/${question.id}/answer`, body, key);
      const label = question.options.find((one) => one.id === told.option)?.label || told.option;
      if (told.told.length > 0) {
        step.value = { at: "open" };
        toldOf.set(question.id, told.told);
        step.value = { at: "counted", option: label, when: now.value, told: told.told };
        return;
      }
      set({ at: "counted", option: label, when: now.value, told: [] });
      void askInbox();
    } catch (error) {
      const problem = asProblem(error);
      if (problem.status === 409 || problem.status === 404 || isRecorded(problem.code)) {
        set({ at: "late", text: isRecorded(problem.code) ? capital(`${problem.message}; ${problem.hint}`) : problem.message });
        void askInbox();
      } else set({ at: "failed", option, problem });
    }
  };
  return { step, text, answer };
}

const toldOf = new Map<string, string[]>();

/** Whose question it is: a session, a feature, or all of them. `isHere`: one is looking at that session. */
export function Whose({ question, isHere = false }: { question: Question; isHere?: boolean }) {
  const session = question.session ? sessions.value?.get(question.session) : undefined;
  return (
    <>
      {isHere ? null : question.session ? (
        <a class="whose" href={toSession(question.session)}>{session === undefined ? question.session : nameOf(session)}</a>
      ) : question.feature ? (
        <a class="whose" href={toFeature(question.feature, question.repository ?? "")}>{question.feature}</a>
      ) : <span class="whose" title={question.repository ?? ""}>{whoseElse(question)}</span>}
      {session !== undefined && !isHere && <span class="agent">{session.agent}</span>}
      {question.repository && (question.session || question.feature) ? <span title={question.repository}>{shortPath(question.repository)}</span> : null}
      <OnHost row={question} />
      <span class="tag">{questionKind(question)}</span>
    </>
  );
}

/** What an agent says about its command, if that is all there is besides it. */
function remark(detail: string): string | null {
  return /^description: ([^\n]+)$/.exec(detail.trim())?.[1] ?? null;
}

/** What it asks: a command in letters of one width, anything else as a sentence. */
export function Asked({ question }: { question: Question }) {
  return isCommand(question) ? <div class="title"><code class="run">{question.title}</code></div> : <div class="title">{capital(question.title)}</div>;
}

/** Whether the end of the detail has been on the screen. Where there is none, everything has been. */
function useSeen(detail: string) {
  const end = useRef<HTMLDivElement>(null);
  const seen = useSignal(detail === "");
  useEffect(() => {
    seen.value = detail === "";
    const mark = end.current;
    if (mark === null) return undefined;
    const eye = new IntersectionObserver((found) => {
      if (found.some((one) => one.isIntersecting)) seen.value = true;
    });
    eye.observe(mark);
    return () => eye.disconnect();
  }, [detail]);
  return { end, seen };
}

function Options(props: { question: Question; isBig: boolean; seen: boolean; step: Step; text: { value: string }; answer: (one: QuestionOption) => void; more?: ComponentChildren }) {
  const { question, step } = props;
  const isOff = !props.seen || readOnly.value || (step.at !== "open" && step.at !== "failed");
  const hasNote = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => { if (hasNote.value) field.current?.focus(); }, [hasNote.value]);
  const takesNote = question.takes_text.length > 0 && !readOnly.value;
  // Nobody is nudged towards a refusal, or towards a permission: all its answers look the same.
  const isMain = (one: QuestionOption): boolean => one.id === question.recommended && !one.kind.startsWith("reject") && !one.kind.startsWith("allow");
  return (
    <>
      {takesNote && hasNote.value && (
        <input ref={field} class="field" aria-label="A note for the agent" placeholder="A note for the agent, sent with your answer"
          value={props.text.value} onInput={(event) => (props.text.value = event.currentTarget.value)} />
      )}
      <div class={props.isBig ? "stack" : "options"} role="group" aria-label="Answers">
        {question.options.map((one, at) => (
          <button key={one.id} type="button" class={`button${isMain(one) ? " main" : ""}`} disabled={isOff}
            data-option={one.id} data-first={at === 0 ? "yes" : undefined} onClick={() => props.answer(one)}>
            {one.label || one.id}
          </button>
        ))}
        {takesNote && !hasNote.value && <button type="button" class="button quiet" onClick={() => (hasNote.value = true)}>Add a note</button>}
        {props.more}
      </div>
      {question.options.length === 0 && <div class="said">There is nothing to choose here: open the session and end its turn.</div>}
      {!props.seen && <div class="said">Scroll to the end first, so that you have seen everything you answer.</div>}
      {readOnly.value && <div class="said">This link is for reading only.</div>}
    </>
  );
}

function Said({ question, step, retry }: { question: Question; step: Step; retry: (one: QuestionOption) => void }) {
  switch (step.at) {
    case "open": {
      const session = sessions.value?.get(question.session ?? "");
      if (session?.status === "unknown") return <div class="said you">{capital(session.why)}. Your answer would be recorded, for when a host has the session.</div>;
      return question.otherwise ? <div class="said">Until you answer: {question.otherwise}.{question.expires_at !== null && <> The question closes at <Until at={question.expires_at} />.</>}</div> : null;
    }
    case "sending":
      return <div class="said">Sending “{step.option.label || step.option.id}” …</div>;
    case "counted":
      return step.told.length > 0
        ? <ul class="said stack">{step.told.map((line, at) => <li key={at}>{line}</li>)}</ul>
        : <div class="said" title={absolute(step.when)}>✓ “{step.option}” counted, {clock(step.when, now.value)}.</div>;
    case "late":
      return <div class="said">{step.text}</div>;
    case "failed":
      return (
        <div class="problem small">
          “{step.option.label || step.option.id}” did not count: {step.problem.message} {step.problem.hint}{" "}
          <button type="button" class="button small" onClick={() => retry(step.option)}>Send it again</button>
        </div>
      );
  }
}

/** A question in a list. */
export function QuestionCard({ question, isHere = false }: { question: Question; isHere?: boolean }) {
  const { step, text, answer } = useAnswer(question);
  const { end, seen } = useSeen(question.detail);
  const isOver = step.value.at === "counted" || step.value.at === "late";
  const plain = remark(question.detail);
  return (
    <article class={`ask${isOver ? " settled" : ""}`} data-item data-question={question.id} tabIndex={-1} aria-label={`Question: ${question.title}`}>
      <div class="who"><Whose question={question} isHere={isHere} /><span class="when"><Ago at={question.asked_at} /></span></div>
      <Asked question={question} />
      {question.detail && (plain !== null ? <div class="small muted">{plain}<span ref={end} aria-hidden="true" /></div> : (
        <div class="detail" tabIndex={0} role="region" aria-label="What it is about">{question.detail}<div ref={end} aria-hidden="true" /></div>
      ))}
      <div class="ask-foot">
        {!isOver && <Options question={question} isBig={false} seen={seen.value} step={step.value} text={text} answer={(one) => void answer(one)} more={question.session && !isHere && <a class="button quiet" href={toSession(question.session)}>Open session</a>} />}
        <div aria-live="polite"><Said question={question} step={step.value} retry={(one) => void answer(one)} /></div>
      </div>
    </article>
  );
}

/** The same on a phone: it fills the screen. `rest`: how many more there are. */
export function QuestionScreen({ question, rest, next }: { question: Question; rest: number; next: string | null }) {
  const { step, text, answer } = useAnswer(question);
  const { end, seen } = useSeen(question.detail);
  const isOver = step.value.at === "counted" || step.value.at === "late";
  return (
    <div class="big-ask" role="dialog" aria-modal="true" aria-label={`Question: ${question.title}`} data-question={question.id}>
      <div class="bar">
        <span class="small muted grow">Needs you{rest > 0 ? ` · ${rest} more` : ""}</span>
        <button type="button" class="button quiet" onClick={() => go("/")}>{isOver ? "Close" : "Not now"}</button>
      </div>
      <div class="body" tabIndex={0} role="region" aria-label="The question">
        <div class="row wrap small muted"><Whose question={question} /><Ago at={question.asked_at} /></div>
        <Asked question={question} />
        {question.detail && (remark(question.detail) !== null ? <div class="muted">{remark(question.detail)}</div> : <div class="detail">{question.detail}</div>)}
        <div ref={end} aria-hidden="true" style={{ height: "1px" }} />
        {question.session && <a href={toSession(question.session)} class="small">Open the session</a>}
      </div>
      <div class="foot">
        <div aria-live="polite"><Said question={question} step={step.value} retry={(one) => void answer(one)} /></div>
        {!isOver && <Options question={question} isBig seen={seen.value} step={step.value} text={text} answer={(one) => void answer(one)} />}
        {isOver && <button type="button" class="button main" onClick={() => go(next === null ? "/" : toQuestion(next))}>{next === null ? "Done" : "Next question"}</button>}
      </div>
    </div>
  );
}
