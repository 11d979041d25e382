// The same reference as naive.py, in JavaScript: readline and JSON.parse, then one walk over the events per question.
// Usage: node naive.mjs FILE; prints its own seconds and what it found as one JSON object.

import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

const ISSUES = new Set(['error.encountered', 'blocker.reported', 'task.failed']);

async function readEvents(file) {
  const events = [];
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
    const text = line.trim();
    if (!text) continue;
    try {
      events.push(JSON.parse(text));
    } catch {
      // a torn line: passed over
    }
  }
  return events;
}

function listSessions(events) {
  const sessions = new Map();
  for (const event of events) {
    let session = sessions.get(event.sid);
    if (session === undefined) {
      session = { sid: event.sid, first_ts: event.ts, last_ts: event.ts, event_count: 0, has_end: false };
      sessions.set(event.sid, session);
    }
    session.event_count += 1;
    session.last_ts = event.ts;
    if (event.type === 'session.end') session.has_end = true;
  }
  return [...sessions.values()];
}

function countGaps(members) {
  const ordered = [...members].sort((a, b) => a.seq - b.seq);
  let gaps = 0;
  for (let i = 1; i < ordered.length; i += 1) {
    if (ordered[i].seq !== ordered[i - 1].seq + 1) gaps += 1;
  }
  return gaps;
}

function taskStates(members) {
  const tasks = {};
  for (const { type, data } of members) {
    if (type === 'task.started') tasks[data.taskId] = 'IN_PROGRESS';
    else if (type === 'task.completed') tasks[data.taskId] = 'COMPLETE';
    else if (type === 'task.failed') tasks[data.taskId] = 'FAILED';
  }
  return tasks;
}

function activeAgents(members) {
  const active = new Set();
  for (const { type, data } of members) {
    if (type === 'agent.spawned') active.add(data.name);
    else if (type === 'agent.completed') active.delete(data.name);
  }
  return [...active];
}

async function analyse(file) {
  const events = await readEvents(file);
  const interrupted = listSessions(events).filter((session) => !session.has_end).map((session) => session.sid).reverse();
  if (interrupted.length === 0) return { interrupted };
  const members = events.filter((event) => event.sid === interrupted[0]);
  const checkpoint = members.filter((event) => event.type === 'checkpoint').at(-1);
  const safe = checkpoint ? checkpoint.seq : -1;
  return {
    interrupted,
    events: members.length,
    gaps: countGaps(members),
    checkpoint: checkpoint ? checkpoint.data.label : null,
    tasks: taskStates(members),
    active_agents: activeAgents(members),
    issues: members.filter((event) => event.seq > safe && ISSUES.has(event.type)).length,
    warnings: members.filter((event) => event.seq > safe && event.type === 'warning.logged').length,
  };
}

const begun = performance.now();
const answer = await analyse(process.argv[2]);
console.log(JSON.stringify({ seconds: (performance.now() - begun) / 1000, answer }));
