// Where answers come from; mirrors src/thresher/release/sources/.

import { Rows } from "./rows.js";

/** The source of a release's answers, by its kind. */
export function sourceOf(facts) {
  const sizes = facts.features.map((feature) => feature.labels.length);
  const offsets = sizes.reduce((starts, size) => [...starts, starts.at(-1) + size], [0]);
  if (facts.source === "zeros") return { answer: () => 0, answerable: () => null };
  if (facts.source === "tables") return new NoisyTables(facts.tables, sizes);
  if (facts.source === "residuals") return new ResidualTables(facts.residuals.tables, sizes);
  return new SyntheticRows(new Rows(facts.rows, offsets), facts.corrections, sizes);
}

/** D', with single cells of measured tables corrected: synthetic_rows.py and rows_and_tables.py. */
class SyntheticRows {
  constructor(rows, corrections, sizes) {
    this.rows = rows;
    this.sizes = sizes;
    this.corrections = new Map(corrections.map((table) => [thresholdOf(table.features, table.r), table]));
  }

  answer(query) {
    const { conditions, r } = query;
    if (conditions.every(({ codes }) => codes.length === 1)) {
      const table = this.corrections.get(thresholdOf(conditions.map(({ feature }) => feature), r));
      if (table) {
        const corrected = correction(table, cellOf(table.features, conditions, this.sizes));
        return corrected ?? Math.min(1, Math.max(0, this.rows.answer(query) - table.surplus));
      }
    }
    return this.rows.answer(query);
  }

  answerable(features) {
    return features;
  }
}

/** Noisy tables as they were measured: noisy_tables.py. */
class NoisyTables {
  constructor(tables, sizes) {
    this.tables = new Map(tables.map((table) => [thresholdOf(table.features, table.r), table]));
    this.sizes = sizes;
  }

  /** The table that answers a threshold: its own, or that of its marginal; undefined if neither was measured. */
  measured(features, r) {
    return this.tables.get(thresholdOf(features, r)) ?? this.tables.get(thresholdOf(features, features.length));
  }

  answer({ conditions, r }) {
    const table = this.measured(conditions.map(({ feature }) => feature), r);
    if (!table) return null;
    const isWhole = table.r === table.features.length;
    if (!isWhole && conditions.some(({ codes }) => codes.length !== 1)) return null;
    const needed = isWhole ? r : conditions.length;
    const allowed = table.features.map((feature) => {
      const met = new Uint8Array(this.sizes[feature]);
      for (const code of conditions.find((condition) => condition.feature === feature).codes) met[code] = 1;
      return met;
    });
    return Math.min(1, Math.max(0, sumOfCells(table.counts, allowed, needed) / table.n));
  }

  answerable(features) {
    const covering = [...this.tables.values()]
      .filter((t) => t.r === t.features.length && features.every((name) => t.features.includes(name)))
      .map((t) => [(t.sigma / t.n) ** 2 * t.counts.length, t.features]);
    if (!covering.length) return null;
    const [, named] = covering.reduce((best, other) => (other[0] < best[0] ? other : best));
    return [...features, ...named.filter((name) => !features.includes(name))];
  }
}

/** Tables that were put together from residuals, and their margins: residual_tables.py. */
class ResidualTables {
  constructor(tables, sizes) {
    this.tables = tables;
    this.sizes = sizes;
  }

  /** A table that has some features; those with a single value need no table. */
  having(features) {
    const varied = features.filter((feature) => this.sizes[feature] > 1);
    return this.tables.find((table) => varied.every((feature) => table.features.includes(feature)));
  }

  answer({ conditions, r }) {
    const table = this.having(conditions.map(({ feature }) => feature));
    if (!table) return null;
    const always = conditions.filter(({ feature, codes }) => !table.features.includes(feature) && codes.length).length;
    const allowed = table.features.map((feature) => {
      const condition = conditions.find((other) => other.feature === feature);
      const met = new Uint8Array(this.sizes[feature]);
      for (const code of condition?.codes ?? []) met[code] = 1;
      return met;
    });
    return Math.min(1, Math.max(0, sumOfCells(table.counts, allowed, r - always) / table.n));
  }

  answerable(features) {
    return this.having(features) ? features : null;
  }
}

/** The sum of the cells that meet at least so many conditions. */
function sumOfCells(counts, allowed, needed) {
  let sum = 0;
  let cell = 0;
  const walk = (axis, met) => {
    if (axis === allowed.length) {
      if (met >= needed) sum += counts[cell];
      cell++;
    } else for (const meets of allowed[axis]) walk(axis + 1, met + meets);
  };
  walk(0, 0);
  return sum;
}

function nameOf(features) {
  return [...features].sort((a, b) => a - b).join();
}

function thresholdOf(features, r) {
  return `${r} of ${nameOf(features)}`;
}

/** The place of a single cell in a table's order of features. */
function cellOf(features, conditions, sizes) {
  const code = new Map(conditions.map(({ feature, codes }) => [feature, codes[0]]));
  return features.reduce((cell, feature) => cell * sizes[feature] + code.get(feature), 0);
}

/** The corrected answer to a cell, by binary search; undefined where D' answers. */
function correction({ cells, answers }, cell) {
  let low = 0;
  let high = cells.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (cells[middle] < cell) low = middle + 1;
    else high = middle;
  }
  return cells[low] === cell ? answers[low] : undefined;
}
