// The variance of an answer of D' in parts; mirrors src/thresher/release/sources/parts.py.

import { choose, countProbabilities } from "./uncertainty.js";

/** The most conditions whose errors together are looked at. */
export const LARGEST_PART = 3;

/** The sum over all sets of one, two and three conditions. */
export function varianceInParts(conditions, r, answer, constants, weightOf, pairOf) {
  const { correlation, interaction, expected: times, claimed: wrong } = constants;
  const shares = sharesOf(conditions, constants);
  let claimed = 0;
  if (answer !== null && shares.length > 1)
    claimed = (answer - countProbabilities(shares).slice(r).reduce((a, b) => a + b, 0)) ** 2;
  let variance = 0;
  let measured = true;
  for (const [places, counts] of setsOf(shares, r, constants)) {
    const names = places.map((i) => conditions[i].feature);
    const weight = weightOf(names);
    const noise = weight * product(places.map((i) => contrast(conditions[i].part, shares[i])));
    if (places.length === 1) {
      variance += counts * (noise + conditions[places[0]].excess);
      continue;
    }
    const spread = product(places.map((i) => shares[i] * (1 - shares[i])));
    if (weight === Infinity) {
      variance += counts * (places.length === 2 ? correlation : interaction) ** 2 * spread;
      measured = false;
    } else {
      const pairs = pairsOf(names, pairOf);
      const raised = noise * misfitOf(pairs);
      // The geometric mean of the pairs' strengths.
      const strength = product(pairs.map((pair) => pair.strength)) ** (1 / pairs.length);
      const expected = (interaction ** 2 + (times[names.length] * strength) ** 2) * spread;
      variance += (counts * raised * expected) / (raised + expected);
    }
  }
  return measured ? variance : variance + wrong ** 2 * claimed;
}

/** What D' says about every two of some features. */
export function pairsOf(features, pairOf) {
  return [...combinations(features.length, 2)].map(([i, j]) => pairOf(features[i], features[j]));
}

/** The largest misfit of some pairs. */
export function misfitOf(pairs) {
  return Math.max(1, ...pairs.map(({ misfit }) => misfit));
}

/** What D' is off in the shares of the conditions, beyond noise. */
export function excessOf(conditions, r, constants) {
  let sum = 0;
  for (const [[place], counts] of setsOf(sharesOf(conditions, constants), r, constants, 1)) sum += counts * conditions[place].excess;
  return sum;
}

function sharesOf(conditions, { most_exact: mostExact }) {
  const shares = conditions.map(({ share }) => share);
  const mean = shares.reduce((a, b) => a + b, 0) / shares.length;
  return shares.length <= mostExact ? shares : shares.map(() => mean);
}

/** The sets of conditions, by their places, and the square of what an error in one counts. */
function* setsOf(shares, r, { most_exact: mostExact }, largest = LARGEST_PART) {
  const k = shares.length;
  const most = Math.min(largest, k, k <= mostExact ? LARGEST_PART : 2);
  for (let size = 1; size <= most; size++) {
    const alike = k > mostExact ? countsOf(shares.slice(size), size, r) : null;
    for (const places of combinations(k, size))
      yield [places, alike ?? countsOf(shares.filter((_, i) => !places.includes(i)), size, r)];
  }
}

function countsOf(others, size, r) {
  const exactly = countProbabilities(others);
  let sum = 0;
  for (let j = 0; j < size; j++) sum += (-1) ** j * choose(size - 1, j) * (exactly[r - size + j] ?? 0);
  return sum ** 2;
}

function* combinations(k, size, first = 0) {
  if (size === 0) yield [];
  else for (let i = first; i <= k - size; i++) for (const rest of combinations(k, size - 1, i + 1)) yield [i, ...rest];
}

function contrast(part, share) {
  return part * (1 - share) ** 2 + (1 - part) * share ** 2;
}

function product(numbers) {
  return numbers.reduce((a, b) => a * b, 1);
}
