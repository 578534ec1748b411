// The page: opens the release, follows the address, and shows one view at a time.

import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Release } from "../engine/release.js";
import { Ask } from "./ask.jsx";
import { Agreement, Errors } from "./chart.jsx";
import { Compare } from "./compare.jsx";
import { starting } from "./conditions.jsx";
import { Distribution } from "./distribution.jsx";
import { Report } from "./report.jsx";
import { linked, parsed, VIEWS } from "./state.js";
import { Table } from "./table.jsx";

const SHOWN = { ask: Ask, table: Table, distribution: Distribution, compare: Compare, report: Report };

/** Choices for whatever the address left open: small features first, since they are easy to read. */
function completed(state, release) {
  const sizes = release.features.map(({ labels }) => labels.length);
  const order = sizes.map((_, index) => index).filter((index) => sizes[index] > 1).sort((a, b) => sizes[a] - sizes[b]);
  const other = (...taken) => [...(release.facts.pairs[0] ?? []), ...order].find((index) => !taken.includes(index)) ?? null;
  const smallest = (...taken) => order.find((index) => !taken.includes(index)) ?? 0;
  const done = { ...state };
  done.rows ??= other(done.columns, done.layers) ?? 0;
  done.columns ??= other(done.rows, done.layers);
  done.of ??= other() ?? 0;
  done.by ??= smallest(done.what?.feature);
  done.what ??= starting(release, smallest(done.by));
  return done;
}

/** The state that the address says; a page that is opened without one begins with an example. */
function addressed(release, first) {
  const state = completed(parsed(location.hash, release, first), release);
  return location.hash ? state : { ...state, conditions: [state.what] };
}

function App({ release, first }) {
  const [state, setState] = useState(() => addressed(release, first));
  useEffect(() => {
    const follow = () => setState(addressed(release, first));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  document.body.dataset.view = state.view;
  const change = (some) => {
    const next = completed({ ...state, ...some }, release);
    history.replaceState(null, "", linked(next));
    setState(next);
  };
  const Shown = SHOWN[state.view];
  return (
    <>
      <nav aria-label="Views">
        {Object.entries(VIEWS).map(([view, name]) => (
          <a href={linked({ ...state, view })} aria-current={view === state.view ? "page" : undefined}>{name}</a>
        ))}
        <a href="#promise" aria-current={state.view === "promise" ? "page" : undefined} class="promise">What is promised?</a>
      </nav>
      {Shown && <Shown release={release} state={state} change={change} />}
    </>
  );
}

async function start() {
  const release = await Release.open(document.getElementById("release").textContent);
  // For tests and for the curious: what the page computes, without the page.
  window.thresher = { release };
  const app = document.getElementById("app");
  app.replaceChildren();
  render(<App release={release} first={document.body.dataset.view} />, app);
  const { points, comparison } = release.facts;
  const agreement = document.getElementById("agreement");
  if (agreement && points.length) render(<Agreement points={points} />, agreement);
  const errors = document.getElementById("errors");
  if (errors && comparison) render(<Errors labels={comparison.labels} compared={comparison.errors} />, errors);
  document.body.classList.add("ready");
}

start().catch((fault) => {
  document.getElementById("app").textContent = `This page could not be opened: ${fault.message}. A browser of 2023 or later is needed.`;
});
