// What D' answers; mirrors src/thresher/relaxed/row_answers.py and surrogate.py.

const REMEMBERED = 4096;

/** The relaxed rows D'; only the numbers that are not zero are kept, column by column. */
export class Rows {
  constructor({ count, filled, places, values }, offsets) {
    this.count = count;
    this.places = places;
    this.values = values;
    this.offsets = offsets;
    this.starts = new Uint32Array(filled.length + 1);
    filled.forEach((size, column) => (this.starts[column + 1] = this.starts[column] + size));
    this.remembered = new Map();
  }

  /** How probable it is that each row meets a condition: float32 sums, as in Python. */
  met({ feature, codes }) {
    const key = `${feature}:${codes}`;
    let met = this.remembered.get(key);
    if (met) return met;
    met = new Float32Array(this.count);
    for (const code of codes) {
      const column = this.offsets[feature] + code;
      for (let i = this.starts[column]; i < this.starts[column + 1]; i++) met[this.places[i]] += this.values[i];
    }
    for (let row = 0; row < met.length; row++) if (met[row] > 1) met[row] = 1;
    if (this.remembered.size >= REMEMBERED) this.remembered.clear();
    this.remembered.set(key, met);
    return met;
  }

  /** The share of people that D' has in each value of a feature. */
  oneWay(feature, size) {
    return Array.from({ length: size }, (_, code) => {
      const column = this.offsets[feature] + code;
      let sum = 0;
      for (let i = this.starts[column]; i < this.starts[column + 1]; i++) sum += this.values[i];
      return sum / this.count;
    });
  }

  answer({ conditions, r }) {
    const matches = conditions.map((condition) => this.met(condition));
    const sum = r === conditions.length ? sumOfProducts(matches) : sumOfThresholds(matches, r);
    return Math.min(1, Math.max(0, sum / this.count));
  }
}

function sumOfProducts(matches) {
  let sum = 0;
  for (let row = 0; row < matches[0].length; row++) {
    let product = 1;
    for (const match of matches) product *= match[row];
    sum += product;
  }
  return sum;
}

/** The Poisson-binomial dynamic programme, row by row. */
function sumOfThresholds(matches, r) {
  const k = matches.length;
  const countMismatches = k - r + 1 <= r;
  const states = countMismatches ? k - r + 1 : r;
  const counts = new Float64Array(states);
  let sum = 0;
  for (let row = 0; row < matches[0].length; row++) {
    counts.fill(0);
    counts[0] = 1;
    for (const match of matches) {
      const notCounted = countMismatches ? match[row] : 1 - match[row];
      for (let state = states - 1; state > 0; state--)
        counts[state] = counts[state] * notCounted + counts[state - 1] * (1 - notCounted);
      counts[0] *= notCounted;
    }
    const fewer = counts.reduce((a, b) => a + b, 0);
    sum += countMismatches ? fewer : 1 - fewer;
  }
  return sum;
}
