// The variances of the errors of D'; mirrors src/thresher/release/sources/fitted_variances.py.

import { product, varianceInCells } from "./uncertainty.js";

export class FittedVariances {
  constructor({ tables, clamped, queries, most_expanded: mostExpanded }, sizes) {
    this.sizes = sizes;
    this.mostExpanded = mostExpanded;
    this.cells = byThreshold(tables);
    this.clamped = byThreshold(clamped);
    this.queries = new Map(queries.map(({ conditions, r, variance }) => [queryName(conditions, r), variance]));
    this.covering = tables
      .filter(({ features, r }) => r === features.length)
      .map(({ features, variance }) => ({ features: new Set(features), sum: variance * this.cellCount(features) }))
      .sort((a, b) => a.sum - b.sum);
    this.leasts = new Map();
  }

  /** The tightest bound for queries that differ only in which codes they allow; infinite where no table covers them. */
  ofKind({ features, allowed, r }) {
    const sizes = features.map((feature) => this.sizes[feature]);
    const cells = varianceInCells(sizes, allowed, r, true);
    if (!cells) return 0;
    let variance = cells * this.perCell(features, sizes, r);
    const k = features.length;
    if (r === k && allowed.every((codes) => codes === 1)) variance = Math.min(variance, this.clamped.get(nameOf(features, r)) ?? Infinity);
    if (r < k && k <= this.mostExpanded) variance = Math.min(variance, this.expanded(features, sizes, allowed, r));
    return variance;
  }

  /** The variance for a query that was measured itself. */
  ofMeasured({ conditions, r }) {
    return this.queries.size ? this.queries.get(queryName(conditions, r)) : undefined;
  }

  perCell(features, sizes, r) {
    const covered = this.least(features) / product(sizes);
    const one = varianceInCells(sizes, sizes.map(() => 1), r, true);
    return one ? Math.min(covered, (this.cells.get(nameOf(features, r)) ?? Infinity) / one) : covered;
  }

  /** The variance of an r-of-k answer as a sum of marginals, by inclusion and exclusion. */
  expanded(features, sizes, allowed, r) {
    let variance = 0;
    for (const subset of subsetsOf(features.length, r)) {
      const shape = subset.map((i) => sizes[i]);
      const cells = varianceInCells(shape, subset.map((i) => allowed[i]), subset.length, true);
      if (!cells) continue;
      const perCell = this.least(subset.map((i) => features[i])) / product(shape);
      variance += choose(subset.length - 1, r - 1) ** 2 * perCell * cells;
    }
    return variance;
  }

  /** The smallest sum of variances among the tables that have all these features. */
  least(features) {
    const name = nameOf(features, features.length);
    let sum = this.leasts.get(name);
    if (sum === undefined) {
      sum = this.covering.find((table) => features.every((feature) => table.features.has(feature)))?.sum ?? Infinity;
      this.leasts.set(name, sum);
    }
    return sum;
  }

  cellCount(features) {
    return product(features.map((feature) => this.sizes[feature]));
  }
}

function byThreshold(tables) {
  return new Map(tables.map(({ features, r, variance }) => [nameOf(features, r), variance]));
}

function nameOf(features, r) {
  return `${r}|${[...features].sort((a, b) => a - b)}`;
}

function queryName(conditions, r) {
  return `${r}|${conditions.map(({ feature, codes }) => `${feature}:${codes}`).sort().join(";")}`;
}

/** The subsets of at least so many of k places. */
function* subsetsOf(k, least) {
  for (let bits = 0; bits < 1 << k; bits++) {
    const subset = [];
    for (let i = 0; i < k; i++) if (bits & (1 << i)) subset.push(i);
    if (subset.length >= least) yield subset;
  }
}

function choose(n, k) {
  let ways = 1;
  for (let i = 1; i <= k; i++) ways = (ways * (n - k + i)) / i;
  return ways;
}
