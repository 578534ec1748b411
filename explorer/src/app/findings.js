// Findings: pairs of features that are closely related, with a difference that is larger than its margins of error.

import { groupsOf } from "./groups.js";
import { tablesOf } from "./tables.js";

const MOST_PAIRS = 4;
const MOST_TRIED = 16;
const GROUPS = 20;
const SMALL = { rows: 8, columns: 5, layers: 1 };
const LARGE_ENOUGH = 0.02;

/** The closest pairs in which some difference between two groups is larger than its margins of error. */
export function findingsOf(release) {
  const found = [];
  for (const pair of closest(release)) {
    const [table] = tablesOf(release, { rows: pair[0], columns: pair[1], layers: null, percent: "row", where: [] }, SMALL);
    const contrast = contrastOf(table.grid);
    if (contrast) found.push({ pair, table, contrast });
    if (found.length === MOST_PAIRS) break;
  }
  return found;
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
export function closest(release) {
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
function mutualInformation(shares) {
  const total = shares.flat().reduce((a, b) => a + b, 0);
  if (total <= 0) return 0;
  const rows = shares.map((row) => row.reduce((a, b) => a + b, 0) / total);
  const columns = shares[0].map((_, j) => shares.reduce((sum, row) => sum + row[j], 0) / total);
  return shares.reduce((sum, row, i) => sum + row.reduce((inner, share, j) =>
    share > 0 ? inner + (share / total) * Math.log(share / total / (rows[i] * columns[j])) : inner, 0), 0);
}
