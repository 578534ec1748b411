// The margins of error; mirrors src/thresher/release/uncertainty.py and the variances of its sources.

import { FittedVariances } from "./fitted_variances.js";

export const NORMAL_95 = 1.96;

/** The uncertainty model of a release, by where its answers come from. */
export function uncertaintyOf(facts, source) {
  const sizes = facts.features.map(({ labels }) => labels.length);
  const variances = {
    zeros: () => ({ ofKind: () => Infinity, ofMeasured: () => undefined }),
    tables: () => noisyTableVariances(source, sizes),
  }[facts.source] ?? (() => new FittedVariances(facts.variances, sizes));
  return new Uncertainty(variances(), facts.total_noise);
}

class Uncertainty {
  constructor(variances, totalNoise) {
    this.variances = variances;
    this.totalMargin = NORMAL_95 * totalNoise;
    this.kinds = new Map();
  }

  /** The margin of error of an answer, null if nothing is known; and whether it is estimated. */
  margin(query, share) {
    const variance = Math.min(this.ofKind(query), this.variances.ofMeasured(query) ?? Infinity);
    let margin = NORMAL_95 * Math.sqrt(variance);
    if (this.totalMargin) margin = Math.hypot(margin, this.totalMargin * share);
    // The truth is between 0 and 1, so no error is larger than this.
    const largest = share > 0.5 ? share : 1 - share;
    const limited = margin < largest ? margin : margin < Infinity ? largest : null;
    return { margin: limited, estimated: false };
  }

  ofKind({ conditions, r }) {
    const features = conditions.map(({ feature }) => feature);
    const allowed = conditions.map(({ codes }) => codes.length);
    const key = `${r}|${features}|${allowed}`;
    let variance = this.kinds.get(key);
    if (variance === undefined) {
      variance = this.variances.ofKind({ features, allowed, r });
      this.kinds.set(key, variance);
    }
    return variance;
  }
}

/** The variances of sums of noisy cells: noisy_tables.py. */
function noisyTableVariances(source, sizes) {
  const ofKind = ({ features, allowed, r }) => {
    const table = source.measured(features, r);
    const noise = (table.sigma / table.n) ** 2;
    // An r-of-k query is one cell of its own table.
    if (table.r === r && r < features.length) return noise;
    return noise * varianceInCells(features.map((feature) => sizes[feature]), allowed, r);
  };
  return { ofKind, ofMeasured: () => undefined };
}

/** The variance of a query's answer, in units of the variance of one cell. */
export function varianceInCells(sizes, allowed, r, sumsToOne = false) {
  const whole = product(sizes);
  const cells = cellsMeeting(sizes, allowed, r);
  if (!sumsToOne) return cells;
  // Beyond 2^53 cells, rounding must not make a difference of nothing.
  return whole - cells <= 1e-12 * whole ? 0 : (cells * (whole - cells)) / whole;
}

function cellsMeeting(sizes, allowed, r) {
  if (r === sizes.length) return product(allowed);
  let byMatches = [1];
  sizes.forEach((size, i) => {
    const next = new Array(byMatches.length + 1).fill(0);
    byMatches.forEach((count, matches) => {
      next[matches] += count * (size - allowed[i]);
      next[matches + 1] += count * allowed[i];
    });
    byMatches = next;
  });
  return byMatches.slice(r).reduce((a, b) => a + b, 0);
}

export function product(numbers) {
  return numbers.reduce((a, b) => a * b, 1);
}
