/** One session that somebody looks at: its record, its conversation as far as it is loaded, its facts. */

import { batch, signal } from "@preact/signals";

import { asProblem, change, get, Problem } from "../api/client";
import type { ConversationPage, Entry, Fact, FactsAnswer, WholeSession } from "../api/types";
import { isRecorded, type Told } from "./away";
import { joined, NOTHING, received, type Loaded } from "./conversation";
import { isLive, listen, unwatch, watch } from "./store";
import { act } from "./toasts";

/** How many entries come at once, and how many are kept at most: the rest of a long conversation is fetched on demand. */
export const PAGE = 80;
export const MOST = 600;
/** How often a session of another host is looked at. */
const LOOK = 2000;

export class SessionStore {
  readonly whole = signal<WholeSession | null>(null);
  readonly loaded = signal<Loaded>(NOTHING);
  readonly isLoaded = signal(false);
  readonly attempts = signal<readonly { attempt: number; n: number }[]>([]);
  readonly facts = signal<readonly Fact[]>([]);
  readonly problem = signal<Problem | null>(null);
  /** Whose copy the conversation is, and how old, if another host has the session. */
  readonly source = signal("");
  /** Why what is shown of another host's session may be out of date. */
  readonly stale = signal<Problem | null>(null);
  readonly told = signal<Told | null>(null);
  private next = 0;
  private isOpen = true;
  private stop: () => void;
  private soon = 0;
  private busy = false;

  constructor(readonly id: string) {
    this.stop = listen({
      id,
      fact: (seq, fact) => this.learned(seq, fact),
      message: (payload) => this.heard(payload),
      reconnected: () => void this.again(),
    });
  }

  /** Fetch what is shown first: the record, and the end of the conversation or the part around a message. */
  async open(around: number | null): Promise<void> {
    try {
      const [whole, page] = await Promise.all([this.record(), this.fetched(around).catch(asProblem)]);
      if (page instanceof Problem && whole.away === undefined) throw page;
      batch(() => {
        this.whole.value = whole;
        if (page instanceof Problem) this.stale.value = page;
        else this.take(page);
        this.isLoaded.value = true;
        this.problem.value = null;
      });
      if (whole.away !== undefined) return this.lookSoon();
      this.watch();
      await this.askFacts();
    } catch (error) {
      this.problem.value = asProblem(error);
    }
  }

  close(): void {
    this.isOpen = false;
    clearTimeout(this.soon);
    clearTimeout(this.next);
    this.stop();
    unwatch(this.id);
  }

  /** After a reconnect: everything that was missed, and nothing twice. */
  private async again(): Promise<void> {
    if (!this.isLoaded.value) return this.open(null);
    if (this.whole.value?.away !== undefined) return this.look();
    this.watch();
    try {
      this.whole.value = await this.record();
      await this.askFacts();
    } catch (error) {
      this.problem.value = asProblem(error);
    }
  }

  private lookSoon(): void {
    clearTimeout(this.next);
    if (this.isOpen) this.next = window.setTimeout(() => void this.look(), LOOK);
  }

  /** Another host has it: nobody pushes what happens there, so its record and its copy are asked for again. */
  private async look(): Promise<void> {
    try {
      if (isLive.value && document.visibilityState === "visible") await this.lookOnce();
    } catch (error) {
      this.stale.value = asProblem(error);
    }
    this.lookSoon();
  }

  private async lookOnce(): Promise<void> {
    const whole = await this.record();
    if (whole.away === undefined) return this.open(null); // it was brought here
    this.whole.value = whole;
    const known = this.loaded.value;
    const page = await get<ConversationPage>(`/sessions/${this.id}/conversation`, { from: Math.max(0, known.from + known.entries.length - 1), limit: PAGE });
    batch(() => {
      this.loaded.value = received(this.loaded.value, page.entries, page.total).loaded;
      this.attempts.value = page.attempts;
      this.source.value = page.source;
      this.stale.value = null;
    });
  }

  /** Do something with it. If another host has it, what came of it stays on the page: nobody here sees it happen. */
  async ask(path: string, body: unknown, done: string): Promise<void> {
    const away = this.whole.value?.away;
    if (away === undefined) {
      await act("POST", `/sessions/${this.id}/${path}`, body, done);
      return;
    }
    this.told.value = { text: `Asking host ${away.host} …`, hint: "", isBad: false };
    try {
      await change("POST", `/sessions/${this.id}/${path}`, body);
      this.told.value = { text: `Host ${away.host} has done it. ${done}`, hint: "", isBad: false };
    } catch (error) {
      const problem = asProblem(error);
      this.told.value = { text: problem.message, hint: problem.hint, isBad: !isRecorded(problem.code) };
    }
    void this.look();
  }

  private watch(): void {
    if (!isLive.value) return;
    const known = this.loaded.value;
    watch(this.id, Math.max(0, known.from + known.entries.length - 1));
  }

  private heard(payload: Record<string, unknown>): void {
    const known = this.loaded.value;
    const entries = ((payload["entries"] ?? []) as Entry[]).map((entry) => {
      const old = entry.append ? known.entries[entry.n - known.from] : undefined;
      return old === undefined ? entry : { ...entry, append: false, text: old.text + entry.text };
    });
    const total = typeof payload["total"] === "number" ? payload["total"] : known.total;
    const { loaded } = received(known, entries, total);
    this.loaded.value = loaded;
    const begun = entries.filter((one) => one.kind === "attempt" && !this.attempts.value.some((a) => a.attempt === one.attempt));
    if (begun.length) this.attempts.value = [...this.attempts.value, ...begun.map(({ attempt, n }) => ({ attempt, n }))];
  }

  private learned(seq: number, fact: Fact | null): void {
    if (fact !== null && !this.facts.value.some((one) => one.seq === seq)) {
      this.facts.value = [...this.facts.value, { ...fact, seq }];
    }
    clearTimeout(this.soon);
    this.soon = window.setTimeout(() => void this.renew(), 80);
  }

  async renew(): Promise<void> {
    try {
      this.whole.value = await this.record();
    } catch {
      // the connection says so itself
    }
  }

  /** Facts after those that are known, so that a reconnect leaves no hole. */
  private async askFacts(): Promise<void> {
    const known = this.facts.value;
    let after = known.reduce((most, one) => Math.max(most, one.seq ?? 0), 0);
    for (;;) {
      const told = await get<FactsAnswer>(`/sessions/${this.id}/facts`, { after });
      const seen = new Set(this.facts.value.map((one) => one.seq));
      const added = told.facts.filter((one) => !seen.has(one.seq));
      if (added.length) {
        this.facts.value = [...this.facts.value, ...added].sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0));
      }
      const last = told.facts[told.facts.length - 1]?.seq ?? after;
      if (told.facts.length === 0 || last <= after) return;
      after = last;
    }
  }

  async earlier(): Promise<void> {
    const known = this.loaded.value;
    if (this.busy || known.from === 0) return;
    await this.more(Math.max(0, known.from - PAGE), Math.min(PAGE, known.from));
  }

  async later(): Promise<void> {
    const known = this.loaded.value;
    if (this.busy || known.from + known.entries.length >= known.total) return;
    await this.more(known.from + known.entries.length, PAGE);
  }

  /** The end of the conversation, at once. */
  async toEnd(): Promise<void> {
    this.take(await this.fetched(null));
    if (this.whole.value?.away === undefined) this.watch();
  }

  /** The part around a message, unless it is loaded. */
  async around(n: number): Promise<void> {
    const known = this.loaded.value;
    if (n >= known.from && n < known.from + known.entries.length) return;
    this.take(await this.fetched(n));
  }

  private async more(from: number, limit: number): Promise<void> {
    this.busy = true;
    try {
      const page = await get<ConversationPage>(`/sessions/${this.id}/conversation`, { from, limit });
      this.loaded.value = joined(this.loaded.value, page, MOST);
      this.source.value = page.source;
      this.attempts.value = page.attempts;
    } catch (error) {
      this.problem.value = asProblem(error);
    } finally {
      this.busy = false;
    }
  }

  private take(page: ConversationPage): void {
    this.loaded.value = { from: page.from, total: page.total, entries: page.entries };
    this.attempts.value = page.attempts;
    this.source.value = page.source;
    this.stale.value = null;
  }

  private async fetched(around: number | null): Promise<ConversationPage> {
    const from = around === null ? -PAGE : Math.max(0, around - Math.floor(PAGE / 3));
    return get<ConversationPage>(`/sessions/${this.id}/conversation`, { from, limit: PAGE });
  }

  private record(): Promise<WholeSession> {
    return get<WholeSession>(`/sessions/${this.id}`);
  }
}
