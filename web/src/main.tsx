/** The page: which view is at which address. */

import "./styles/base.css";
import "./styles/shell.css";
import "./styles/home.css";
import "./styles/session.css";
import "./styles/views.css";

import { render } from "preact";

import { Boundary } from "./parts/boundary";
import { QuestionCard, QuestionScreen } from "./parts/question";
import { Shell, startTab } from "./parts/shell";
import { Empty, Skeleton } from "./parts/small";
import { startKeys } from "./state/keys";
import { isPhone } from "./state/media";
import { place, startRouting } from "./state/router";
import { begin, gate, inbox } from "./state/store";
import type { Question } from "./api/types";
import { FeaturesView, FeatureView } from "./views/feature";
import { GateView } from "./views/gate";
import { Home } from "./views/home";
import { Jobs, JobView } from "./views/jobs";
import { Machine } from "./views/machine";
import { Report } from "./views/report";
import { Search } from "./views/search";
import { SessionPage } from "./views/session";
import { Sessions } from "./views/sessions";

function View() {
  const here = place.value;
  switch (here.view) {
    case "home":
      return <Home />;
    case "sessions":
      return <Sessions />;
    case "session":
      return <SessionPage key={here.id} id={here.id} message={here.message} attempt={here.attempt} tab={here.tab} />;
    case "features":
      return <FeaturesView />;
    case "feature":
      return <FeatureView key={`${here.repository} ${here.name}`} name={here.name} repository={here.repository} />;
    case "jobs":
      return here.id === null ? <Jobs /> : <JobView key={here.id} id={here.id} />;
    case "search":
      return <Search query={here.query} />;
    case "report":
      return <Report since={here.since} />;
    case "machine":
      return <Machine />;
    case "question":
      return <OneQuestion key={here.id} id={here.id} />;
    case "nowhere":
      return <Empty>There is no such place. <a href="/">Home</a></Empty>;
  }
}

/** Questions that were shown stay on the screen after they are answered, so that the answer can say that it counted. */
const shown = new Map<string, Question>();

function OneQuestion({ id }: { id: string }) {
  const open = inbox.value?.questions ?? null;
  const found = open?.find((one) => one.id === id);
  if (found !== undefined) shown.set(id, found);
  const question = found ?? shown.get(id);
  if (question === undefined) return open === null ? <Skeleton /> : <Empty>This question is closed: it was answered, or what it was about has changed. <a href="/">What needs you now</a></Empty>;
  const others = (open ?? []).filter((one) => one.id !== id);
  return isPhone.value ? <QuestionScreen question={question} rest={others.length} next={others[0]?.id ?? null} /> : <QuestionCard question={question} />;
}

function Page() {
  const state = gate.value;
  if (state === "starting") return null;
  if (state !== "open") return <GateView gate={state} />;
  return <Shell><Boundary place={JSON.stringify(place.value)}><View /></Boundary></Shell>;
}

const root = document.getElementById("page");
if (root !== null) {
  startRouting();
  startKeys();
  startTab();
  render(<Page />, root);
  void begin();
}
