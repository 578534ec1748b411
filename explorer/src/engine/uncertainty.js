// The margins of error; mirrors src/thresher/release/uncertainty.py.

import { FittedVariances } from "./fitted_variances.js";

/** The uncertainty model of a release, by where its answers come from. */
export function uncertaintyOf(facts, source) {
  const sizes = facts.features.map(({ labels }) => labels.length);
  return new Uncertainty(variancesOf(facts, source, sizes), facts.total_noise, facts.normal_95);
}

function variancesOf(facts, source, sizes) {
  if (facts.source === "zeros") return { of: () => ({ variance: Infinity, estimated: false }) };
  if (facts.source === "tables") return { of: (query) => ofNoisyTable(source, sizes, query) };
  if (facts.source === "residuals") return residualVariances(facts.residuals.noise, sizes);
  return new FittedVariances(facts.variances, sizes, (feature) => source.rows.oneWay(feature, sizes[feature]));
}

class Uncertainty {
  constructor(variances, totalNoise, normal95) {
    this.variances = variances;
    this.totalNoise = totalNoise;
    this.normal95 = normal95;
  }

  /** Of queries with the same true answer, the first that is known best. */
  best(ways) {
    const ranked = ways.map((entry) => ({ entry, ...this.variances.of(entry.way) }));
    const isBetter = (a, b) => (a.estimated === b.estimated ? a.variance < b.variance : !a.estimated);
    return ranked.reduce((best, other) => (isBetter(other, best) ? other : best)).entry;
  }

  /** The margin of error of an answer, null if nothing is known; and whether it is estimated. */
  margin(query, share) {
    const { variance, estimated } = this.variances.of(query, share);
    if (variance === Infinity) return { margin: null, estimated };
    const margin = this.normal95 * Math.sqrt(variance + (this.totalNoise * share) ** 2);
    // The truth is between 0 and 1, so no error is larger than this.
    return { margin: Math.min(margin, Math.max(share, 1 - share)), estimated };
  }
}

/** The variance of a sum of noisy cells: noisy_tables.py. */
function ofNoisyTable(source, sizes, { conditions, r }) {
  const features = conditions.map(({ feature }) => feature);
  const table = source.measured(features, r);
  // An r-of-k query is one cell of its table.
  const isCell = table.r === r && r < features.length;
  const allowed = conditions.map(({ codes }) => codes.length);
  const cells = isCell ? 1 : cellsMeeting(features.map((feature) => sizes[feature]), allowed, r);
  return { variance: (table.sigma / table.n) ** 2 * cells, estimated: false };
}

/** The noise of every residual, times what it adds to an answer: residual_tables.py and contrasts.py. */
function residualVariances(residuals, sizes) {
  const name = (features) => [...features].sort((a, b) => a - b).join();
  const noise = new Map(residuals.map((residual) => [name(residual.features), residual.noise]));
  const of = ({ conditions, r }) => {
    const shares = conditions.map(({ feature, codes }) => codes.length / sizes[feature]);
    let variance = 0;
    for (let bits = 1; bits < 1 << conditions.length; bits++) {
      const isInside = (i) => bits & (1 << i);
      const inside = conditions.filter((_, i) => isInside(i));
      const outside = shares.filter((_, i) => !isInside(i));
      const hold = byCount(outside, outside.map((share) => 1 - share));
      const atLeast = (least) => (least <= 0 ? 1 : hold.slice(least).reduce((a, b) => a + b, 0));
      const k = inside.length;
      let factor = 0;
      for (let j = 0; j <= k; j++) factor += (-1) ** (k - j) * choose(k, j) * atLeast(r - j);
      const norm = inside.reduce((product, { feature, codes }) => product * codes.length * (1 - codes.length / sizes[feature]), 1);
      const part = factor ** 2 * norm;
      if (part) variance += part * (noise.get(name(inside.map(({ feature }) => feature))) ?? Infinity) ** 2;
    }
    return { variance, estimated: false };
  };
  return { of };
}

/** The number of ways to choose k of n. */
export function choose(n, k) {
  let ways = 1;
  for (let i = 1; i <= k; i++) ways = (ways * (n - k + i)) / i;
  return ways;
}

/** The probabilities that 0, 1, 2, … of some independent conditions hold. */
export function countProbabilities(shares) {
  return byCount(shares, shares.map((share) => 1 - share));
}

/** The number of cells of a table that meet at least r of the conditions. */
function cellsMeeting(sizes, allowed, r) {
  const others = sizes.map((size, i) => size - allowed[i]);
  return byCount(allowed, others).slice(r).reduce((a, b) => a + b, 0);
}

/** For each number of conditions, how much of the whole meets exactly so many: weights of holding and of failing. */
function byCount(hold, fail) {
  let found = [1];
  hold.forEach((weight, i) => {
    const next = new Array(found.length + 1).fill(0);
    found.forEach((before, count) => {
      next[count] += before * fail[i];
      next[count + 1] += before * weight;
    });
    found = next;
  });
  return found;
}
