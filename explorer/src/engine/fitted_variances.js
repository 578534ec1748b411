// The variances of the errors of D'; mirrors src/thresher/release/sources/fitted_variances.py.

import { choose, exactly } from "./uncertainty.js";

export class FittedVariances {
  constructor({ tables, clamped, queries, predicted, prediction, excesses, floor, constants }, sizes, oneWay) {
    Object.assign(this, { prediction, floor, constants, sizes });
    this.cells = byThreshold(tables);
    this.clamped = byThreshold(clamped);
    this.queries = new Map(queries.map(({ conditions, r, variance }) => [queryName(conditions, r), variance]));
    this.predicted = new Set(predicted.map(({ features, r }) => nameOf(features, r)));
    this.excesses = new Map(excesses);
    this.covering = tables
      .filter(({ features, r }) => r === features.length)
      .map(({ features, variance }) => ({ features: new Set(features), precision: 1 / (variance * product(features.map((f) => sizes[f]))) }));
    this.weights = new Map();
    this.oneWays = new Map();
    this.oneWay = oneWay;
  }

  /** The smallest bound, and whether it is an estimate. */
  of({ conditions, r: needed }) {
    // A condition that everybody meets, or nobody, leaves a query about the others.
    const always = conditions.filter(({ feature, codes }) => codes.length === this.sizes[feature]).length;
    const open = conditions.filter(({ feature, codes }) => codes.length > 0 && codes.length < this.sizes[feature]);
    const r = needed - always;
    if (r <= 0 || r > open.length) return { variance: 0, estimated: false };
    const { variance, estimated } = this.bound(open, r);
    const measured = this.ofMeasured(conditions, needed);
    if (measured < variance) return { variance: measured, estimated: false };
    return { variance, estimated: estimated && measured === Infinity };
  }

  bound(conditions, r) {
    const { fitted, correlation, most_exact: mostExact } = this.constants;
    const names = conditions.map(({ feature }) => feature);
    const allowed = conditions.map(({ feature, codes }) => codes.length / this.sizes[feature]);
    const alone = names.map((name, i) => this.alone(name, allowed[i]));
    const k = names.length;
    let shares = conditions.map((condition, i) => spread(this.share(condition), alone[i]));
    if (k > mostExact) shares = shares.map(() => shares.reduce((a, b) => a + b, 0) / k);
    const hold = (without, count) => probability(shares, without, count, mostExact);
    let inParts = this.floor;
    let excess = this.floor;
    for (let i = 0; i < k; i++) {
      const weight = hold([i], r - 1) ** 2;
      inParts += weight * alone[i];
      excess += weight * (this.excesses.get(names[i]) ?? 0);
    }
    for (let i = 0; i < k; i++)
      for (let j = i + 1; j < k; j++) {
        const weight = hold([i, j], r - 2) - hold([i, j], r - 1);
        const both = allowed[i] * allowed[j];
        const noise = this.weight([names[i], names[j]]) * both * (1 - both);
        const spreads = shares[i] * (1 - shares[i]) * shares[j] * (1 - shares[j]);
        inParts += weight ** 2 * Math.min(noise, correlation ** 2 * spreads);
      }
    if (names.some((name) => this.weight([name]) === Infinity))
      return { variance: Math.max(inParts, this.constants.unmeasured ** 2), estimated: true };
    const whole = this.weight(names);
    if (r < k || whole === Infinity) return { variance: inParts, estimated: whole === Infinity };
    const cells = product(allowed);
    return { variance: Math.min(inParts, fitted * whole * cells * (1 - cells) + excess), estimated: false };
  }

  /** The variance of the share of a condition that allows so large a part of the values. */
  alone(name, part) {
    const { fitted, excess, unmeasured } = this.constants;
    const noise = this.weight([name]) * part * (1 - part);
    return noise === Infinity ? unmeasured ** 2 : fitted * noise + excess * (this.excesses.get(name) ?? 0);
  }

  /** The share of people that D' has in a condition. */
  share({ feature, codes }) {
    if (!this.oneWays.has(feature)) this.oneWays.set(feature, this.oneWay(feature));
    const shares = this.oneWays.get(feature);
    return Math.min(1, codes.reduce((sum, code) => sum + shares[code], 0));
  }

  /** The bound by a measurement or prediction of the very query; infinite if there is none. */
  ofMeasured(conditions, r) {
    const { fitted } = this.constants;
    const asked = nameOf(conditions.map(({ feature }) => feature), r);
    let variance = this.queries.size ? this.queries.get(queryName(conditions, r)) ?? Infinity : Infinity;
    if (conditions.some(({ codes }) => codes.length !== 1)) return fitted * variance;
    // The table of an r-of-k threshold.
    if (r < conditions.length) variance = Math.min(variance, this.cells.get(asked) ?? Infinity);
    variance = fitted * Math.min(variance, this.clamped.get(asked) ?? Infinity);
    return this.predicted.has(asked) ? Math.min(variance, this.prediction) : variance;
  }

  /** W of some features: precisions of the tables that have them all add up; infinite if none has. */
  weight(features) {
    const name = nameOf(features, features.length);
    let weight = this.weights.get(name);
    if (weight === undefined) {
      const covering = this.covering.filter((table) => features.every((feature) => table.features.has(feature)));
      weight = 1 / covering.reduce((sum, { precision }) => sum + precision, 0);
      this.weights.set(name, weight);
    }
    return weight;
  }
}

/** A share that may be as far from 0 and from 1 as its standard deviation says. */
function spread(share, variance) {
  const least = Math.min(Math.sqrt(variance), 0.5);
  return Math.min(Math.max(share, least), 1 - least);
}

/** The probability that exactly so many of the other conditions hold, if they are independent. */
function probability(shares, without, count, mostExact) {
  if (shares.length <= mostExact) return exactly(shares.filter((_, i) => !without.includes(i)), count);
  const others = shares.length - without.length;
  if (count < 0 || count > others) return 0;
  return choose(others, count) * shares[0] ** count * (1 - shares[0]) ** (others - count);
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

function product(numbers) {
  return numbers.reduce((a, b) => a * b, 1);
}
