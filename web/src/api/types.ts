/** What the server sends, by the names that the page uses. The types are made from its description: see `npm run types`. */

import type { components } from "./schema";

type Schemas = components["schemas"];

/** The description calls a field that has a default optional; an answer always has it. */
type Sent<T> = T extends readonly unknown[]
  ? { [K in keyof T]: Sent<T[K]> }
  : T extends object
    ? { [K in keyof T]-?: Sent<T[K]> }
    : T;

/** What a daemon says only if it is in a fleet. */
type InFleet<T extends { host: string }> = Omit<T, "host"> & { host?: string };

export type Receipt = Sent<Schemas["Receipt"]>;
/** `host` is there in a fleet only. */
export type Question = InFleet<Sent<Schemas["InboxQuestion"]>>;
export type QuestionOption = Sent<Schemas["QuestionOption"]>;
export type AnsweredQuestion = Sent<Schemas["AnsweredQuestion"]>;
export type SessionView = InFleet<Sent<Schemas["SessionView"]>>;
export type AwayHost = Sent<Schemas["AwayHost"]>;
export type WholeSession = InFleet<Omit<Sent<Schemas["WholeSession"]>, "away">> & { away?: AwayHost };
export type MailSlip = Sent<Schemas["MailSlip"]>;
export type AcceptedPrompt = Omit<Sent<Schemas["AcceptedPrompt"]>, "mail"> & { mail?: MailSlip };
export type SessionOpened = Sent<Schemas["SessionOpened"]>;
export type Prompt = Sent<Schemas["Prompt"]>;
export type Attempt = Sent<Schemas["Attempt"]>;
export type Entry = Sent<Schemas["ShownEntry"]>;
export type EntryKind = Entry["kind"];
export type ConversationPage = Sent<Schemas["ConversationPage"]>;
export type Me = Sent<Schemas["Me"]>;
export type Paired = Sent<Schemas["Paired"]>;
export type GovernorView = Sent<Schemas["GovernorView"]>;
export type SessionsAnswer = Sent<Schemas["Sessions"]>;
export type InboxAnswer = Sent<Schemas["Inbox"]>;
export type FactsAnswer = { facts: Fact[]; last: number };
export type SnapshotList = Sent<Schemas["SnapshotList"]>;
export type Snapshot = Sent<Schemas["Snapshot"]>;
export type Difference = Sent<Schemas["Difference"]>;
export type ForkPoints = Sent<Schemas["ForkPoints"]>;
export type KnownFeatures = Sent<Schemas["KnownFeatures"]>;
export type FeatureDetail = Sent<Schemas["FeatureDetail"]>;
export type RunView = Sent<Schemas["RunView"]>;
export type TaskView = Sent<Schemas["TaskView"]>;
export type ListedJobs = Sent<Schemas["ListedJobs"]>;
export type ShownJob = Sent<Schemas["ShownJob"]>;
export type JobRecord = Sent<Schemas["JobRecord"]>;
export type MorningReport = Sent<Schemas["MorningReport"]>;
export type ReportLine = Sent<Schemas["ReportLine"]>;
export type Cited = Sent<Schemas["Cited"]>;
export type SearchHits = Sent<Schemas["SearchHits"]>;
export type FleetStatus = Sent<Schemas["FleetStatus"]>;
export type MachineView = Sent<Schemas["MachineView"]>;
export type Findings = Sent<Schemas["Findings"]>;
export type AgentRows = Sent<Schemas["AgentRows"]>;

/** A fact of the feed: the description leaves its own fields open. */
export interface Fact {
  /** Its name. */
  fact: string;
  at: number;
  seq?: number;
  session?: string;
  [name: string]: unknown;
}
