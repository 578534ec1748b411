// The variances of the errors of D'; mirrors src/thresher/release/sources/fitted_variances.py.

import { LARGEST_PART, excessOf, misfitOf, pairsOf, varianceInParts } from "./parts.js";

export class FittedVariances {
  constructor({ tables, joint, clamped, queries, predicted, prediction, pairs, excesses, floor, constants }, sizes, oneWay) {
    Object.assign(this, { prediction, floor, constants, sizes });
    this.cells = byThreshold(tables);
    this.clamped = byThreshold(clamped);
    this.queries = new Map(queries.map(({ conditions, r, variance }) => [queryName(conditions, r), variance]));
    this.predicted = new Set(predicted.map(({ features, r }) => nameOf(features, r)));
    this.excesses = new Map(excesses);
    this.pairs = new Map(pairs.map(([a, b, strength, misfit]) => [nameOf([a, b], 2), { strength, misfit }]));
    this.covering = tables
      .filter(({ features, r }) => r === features.length)
      .map(({ features, variance }) => ({ features: new Set(features), precision: 1 / (variance * product(features.map((f) => sizes[f]))) }));
    this.joint = new Map(joint.map(({ features, weight }) => [nameOf(features, features.length), 1 / weight]));
    this.weights = new Map();
    this.oneWays = new Map();
    this.oneWay = oneWay;
  }

  /** The smallest bound, and whether it is an estimate; `answer` is null where it is not known. */
  of({ conditions, r: needed }, answer = null) {
    // A condition that everybody meets, or nobody, leaves a query about the others.
    const always = conditions.filter(({ feature, codes }) => codes.length === this.sizes[feature]).length;
    const open = conditions.filter(({ feature, codes }) => codes.length > 0 && codes.length < this.sizes[feature]);
    const r = needed - always;
    if (r <= 0 || r > open.length) return { variance: 0, estimated: false };
    const { variance, estimated } = this.bound(open.map((condition) => this.alone(condition)), r, answer);
    const measured = this.ofMeasured(conditions, needed);
    if (measured < variance) return { variance: measured, estimated: false };
    return { variance, estimated: estimated && measured === Infinity };
  }

  bound(conditions, r, answer) {
    const { unmeasured } = this.constants;
    if (conditions.some(({ noise }) => noise === Infinity)) return { variance: unmeasured ** 2, estimated: true };
    const pairOf = (a, b) => this.pairs.get(nameOf([a, b], 2));
    const inParts = this.floor + varianceInParts(conditions, r, answer, this.constants, (features) => this.weight(features), pairOf);
    const features = conditions.map(({ feature }) => feature);
    const whole = this.weight(features);
    if (r < conditions.length || whole === Infinity) return { variance: inParts, estimated: whole === Infinity };
    const cells = product(conditions.map(({ part }) => part));
    const noise = whole * cells * (1 - cells) * misfitOf(pairsOf(features, pairOf));
    const asCells = this.floor + noise + excessOf(conditions, r, this.constants);
    // What four and more conditions have in common is in no part.
    return { variance: conditions.length <= LARGEST_PART ? Math.min(inParts, asCells) : asCells, estimated: false };
  }

  /** What is known about a condition by itself. */
  alone(condition) {
    const { feature, codes } = condition;
    const part = codes.length / this.sizes[feature];
    const noise = this.weight([feature]) * part * (1 - part);
    const least = Math.min(Math.sqrt(noise), 0.5);
    const share = Math.min(Math.max(this.share(condition), least), 1 - least);
    return { feature, part, share, noise, excess: this.excesses.get(feature) ?? 0 };
  }

  /** The share of people that D' has in a condition. */
  share({ feature, codes }) {
    if (!this.oneWays.has(feature)) this.oneWays.set(feature, this.oneWay(feature));
    const shares = this.oneWays.get(feature);
    return Math.min(1, codes.reduce((sum, code) => sum + shares[code], 0));
  }

  /** The bound by a measurement or prediction of the very query; infinite if there is none. */
  ofMeasured(conditions, r) {
    const { single } = this.constants;
    const asked = nameOf(conditions.map(({ feature }) => feature), r);
    let variance = this.queries.size ? this.queries.get(queryName(conditions, r)) ?? Infinity : Infinity;
    if (conditions.some(({ codes }) => codes.length !== 1)) return single * variance;
    // The table of an r-of-k threshold.
    if (r < conditions.length) variance = Math.min(variance, this.cells.get(asked) ?? Infinity);
    variance = Math.min(single * variance, this.clamped.get(asked) ?? Infinity);
    return this.predicted.has(asked) ? Math.min(variance, this.prediction) : variance;
  }

  /**
   * W of some features: precisions of the tables that have them all add up; infinite if none has.
   * Of the tables from residuals, the one over just these features says all that they say.
   */
  weight(features) {
    const name = nameOf(features, features.length);
    let weight = this.weights.get(name);
    if (weight === undefined) {
      const covering = this.covering.filter((table) => features.every((feature) => table.features.has(feature)));
      weight = 1 / covering.reduce((sum, { precision }) => sum + precision, this.joint.get(name) ?? 0);
      this.weights.set(name, weight);
    }
    return weight;
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

function product(numbers) {
  return numbers.reduce((a, b) => a * b, 1);
}
