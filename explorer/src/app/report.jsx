// Findings first: what is most closely related, and how each feature is distributed.

import { useMemo } from "preact/hooks";
import { Bars } from "./chart.jsx";
import { sharesOf } from "./distribution.jsx";
import { findingsOf } from "./findings.js";
import { inWords } from "./format.js";
import { linked } from "./state.js";
import { Grid } from "./table.jsx";

const MOST_FEATURES = 60;

export function Report({ release, state }) {
  const findings = useMemo(() => findingsOf(release), [release]);
  const features = release.features.slice(0, MOST_FEATURES).map((_, index) => index)
    .filter((index) => release.source.answerable([index]));
  const left = release.features.length - features.length;
  return (
    <>
      <section aria-labelledby="findings-title">
        <h2 id="findings-title">Findings</h2>
        <p>{findings.length
          ? "The features that are most closely related, of those that were asked about together. Every number has its margin of error (95 %)."
          : "No difference between groups is larger than the margins of error."}</p>
        {findings.map((finding) => <Finding key={finding.pair.join()} release={release} finding={finding} state={state} />)}
      </section>
      <section aria-labelledby="one-title">
        <h2 id="one-title">One feature at a time</h2>
        {features.length ? <p>The share of {release.facts.counted} with each value; the line on a bar is its margin of error.</p>
          : <p>This release has no table of a single feature.</p>}
        {left > 0 && features.length > 0 && <p class="small">{left} features are not shown: the release has no table of them, or they are beyond the first {MOST_FEATURES}.</p>}
        <div class="figures">
          {features.map((index) => <One key={index} release={release} index={index} state={state} />)}
        </div>
      </section>
    </>
  );
}

function One({ release, index, state }) {
  const feature = release.features[index];
  const rows = useMemo(() => sharesOf(release, index, [], { ordered: 50, categories: 10 }), [release, index]);
  const largest = rows.filter(({ codes }) => feature.ordered || codes.length === 1)
    .reduce((best, row) => (row.share > best.share ? row : best), rows[0]);
  const words = inWords(largest);
  return (
    <figure>
      <figcaption><a href={linked({ ...state, view: "distribution", of: index, limits: [] })}><b><bdi>{feature.name}</bdi></b></a>
        <span class="small"> most: <bdi>{largest.label}</bdi>, {words.share} {words.margin}</span></figcaption>
      <Bars title={`Shares of the values of ${feature.name}; most: ${largest.label}, ${words.share} ${words.margin}`} rows={rows} ordered={feature.ordered} />
    </figure>
  );
}

function Finding({ release, finding: { pair: [rows, columns], table, contrast }, state }) {
  const names = [rows, columns].map((index) => release.features[index].name);
  return (
    <article>
      <h3><a href={linked({ ...state, view: "table", rows, columns, layers: null, percent: "row", limits: [] })}><bdi>{names[0]}</bdi> and <bdi>{names[1]}</bdi></a></h3>
      <p>Where <bdi>{names[0]}</bdi> is <bdi>{contrast.high.name}</bdi>, {text(contrast.high.cell)} have <bdi>{names[1]}</bdi> <bdi>{contrast.high.cell.name}</bdi>;
        where it is <bdi>{contrast.low.name}</bdi>, {text(contrast.low.cell)} do.</p>
      <Grid table={table} names={names} />
    </article>
  );
}

function text(cell) {
  const words = inWords(cell);
  return words.margin ? `${words.share} (${words.margin})` : words.share;
}
