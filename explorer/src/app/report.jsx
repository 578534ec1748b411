// Findings first: what is most closely related, and how each feature is distributed.

import { useMemo } from "preact/hooks";
import { Bars } from "./chart.jsx";
import { sharesOf } from "./distribution.jsx";
import { inWords } from "./format.js";
import { groupsOf } from "./groups.js";
import { linked } from "./state.js";
import { Grid, tablesOf } from "./table.jsx";

const MOST_PAIRS = 4;
const MOST_TRIED = 16;
const MOST_FEATURES = 60;
const GROUPS = 20;
const SMALL = { rows: 8, columns: 5, layers: 1 };
const LARGE_ENOUGH = 0.02;

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

/** The closest pairs in which some difference between two groups is larger than its margins of error. */
function findingsOf(release) {
  const found = [];
  for (const pair of closest(release)) {
    const [table] = tablesOf(release, { rows: pair[0], columns: pair[1], layers: null, percent: "row", where: [] }, SMALL);
    const contrast = contrastOf(table.grid);
    if (contrast) found.push({ pair, table, contrast });
    if (found.length === MOST_PAIRS) break;
  }
  return found;
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

/** The value of the columns that differs most, beyond all margins, between two rows with enough people; null if none does. */
function contrastOf(grid) {
  const rows = grid.slice(0, -1).filter(({ cells }) => cells.at(-1).people / Math.max(1, grid.at(-1).cells.at(-1).people) >= LARGE_ENOUGH);
  let best = null;
  for (let place = 0; rows.length && place < rows[0].cells.length - 1; place++) {
    const known = rows.map(({ name, cells }) => ({ name, cell: cells[place] })).filter(({ cell }) => cell.share !== null && cell.margin !== null);
    if (known.length < 2) continue;
    const high = known.reduce((a, b) => (b.cell.share - b.cell.margin > a.cell.share - a.cell.margin ? b : a));
    const low = known.reduce((a, b) => (b.cell.share + b.cell.margin < a.cell.share + a.cell.margin ? b : a));
    const difference = high.cell.share - high.cell.margin - low.cell.share - low.cell.margin;
    if (difference > (best?.difference ?? 0)) best = { difference, high, low };
  }
  return best;
}

/** Of the pairs that were asked about, the most closely related; for noisy tables, in which noise looks
 * like a relation, those with the smallest margins. */
function closest(release) {
  const groups = new Map();
  const grouped = (index) => groups.get(index) ?? groups.set(index, groupsOf(release, index, GROUPS)).get(index);
  const closeness = (pair) => {
    if (!release.facts.rows) return -(release.answerAll(pair.map((feature) => ({ feature, codes: [0] }))).margin ?? 1);
    return mutualInformation(grouped(pair[0]).map((row) => grouped(pair[1]).map((column) =>
      release.answerAll([{ feature: pair[0], codes: row.codes }, { feature: pair[1], codes: column.codes }]).share)));
  };
  return release.facts.pairs.filter((pair) => release.source.answerable(pair))
    .map((pair) => ({ pair, closeness: closeness(pair) }))
    .sort((a, b) => b.closeness - a.closeness).slice(0, MOST_TRIED)
    .map(({ pair: [a, b] }) => (grouped(a).length >= grouped(b).length ? [a, b] : [b, a]));
}

/** How much the row of a person tells about the column, in nats. */
export function mutualInformation(shares) {
  const total = shares.flat().reduce((a, b) => a + b, 0);
  if (total <= 0) return 0;
  const rows = shares.map((row) => row.reduce((a, b) => a + b, 0) / total);
  const columns = shares[0].map((_, j) => shares.reduce((sum, row) => sum + row[j], 0) / total);
  return shares.reduce((sum, row, i) => sum + row.reduce((inner, share, j) =>
    share > 0 ? inner + (share / total) * Math.log(share / total / (rows[i] * columns[j])) : inner, 0), 0);
}
