// Means, sums and quantiles of a feature of numbers; mirrors src/thresher/release/numbers.py.

import { merged } from "./release.js";
import { ratio } from "./ratio.js";

const BINNING = 0.25;

/** Whether a feature has numbers: whole numbers, or bins. */
export function hasNumbers({ base, kind }) {
  return base === null && (kind === "integer" || kind === "numeric");
}

/** The people, mean, sum and quantiles of a feature among those who meet all of some conditions; null if there is nobody. */
export function numbersOf(release, index, where, parts = [0.25, 0.5, 0.75]) {
  const feature = release.features[index];
  const answer = (first, end) => {
    const codes = Array.from({ length: end - first }, (_, i) => first + i);
    return release.answerAll(merged([{ feature: index, codes }], where));
  };
  const total = answer(0, feature.steps);
  if (!(total.share > 0)) return null;
  const answers = Array.from({ length: feature.steps }, (_, code) => answer(code, code + 1));
  if (answers.some(({ share }) => share === null) || !answers.some(({ share }) => share > 0)) return null;
  const estimated = answers.some((one) => one.estimated);
  const edges = edgesOf(feature);
  const mean = meanOf(feature, edges, answers);
  const people = total.share * release.n;
  const off = Math.hypot(people * mean.margin, mean.value * (total.margin ?? 0) * release.n);
  // The least and the largest number.
  const [least, most] = [edges[0], edges.at(feature.edges ? -1 : -2)];
  const within = (value, margin, low, high) =>
    ({ value, low: Math.min(value, Math.max(value - margin, low)), high: Math.max(value, Math.min(value + margin, high)), estimated });
  const below = answers.slice(1).map((_, i) => ratio(answer(0, i + 1), total));
  return {
    people,
    mean: within(mean.value, mean.margin, least, most),
    sum: within(people * mean.value, off, Math.min(release.n * least, 0), Math.max(release.n * most, 0)),
    quantiles: parts.map((part) => ({ part, ...quantileOf(feature, edges, below, part), estimated })),
  };
}

function edgesOf({ edges, labels, steps }) {
  return edges ?? Array.from({ length: steps + 1 }, (_, i) => Number(labels[0]) + i);
}

function meanOf(feature, edges, answers) {
  const widths = answers.map((_, i) => (feature.edges ? edges[i + 1] - edges[i] : 0));
  const middles = answers.map((_, i) => edges[i] + widths[i] / 2);
  const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
  const base = sum(answers.map(({ share }) => share));
  const value = sum(answers.map(({ share }, i) => share * middles[i])) / base;
  const noise = sum(answers.map(({ margin }, i) => ((middles[i] - value) * (margin ?? 0)) ** 2));
  const binning = BINNING * sum(answers.map(({ share }, i) => share * widths[i]));
  return { value, margin: Math.hypot(Math.sqrt(noise), binning) / base };
}

function quantileOf(feature, edges, below, part) {
  const parts = risen([0, ...below.map(({ share }) => share), 1]);
  const margins = [0, ...below.map(({ margin }) => margin ?? 0), 0];
  const lower = parts.map((at, i) => Math.max(at - margins[i], 0));
  const upper = parts.map((at, i) => Math.min(at + margins[i], 1));
  lower[lower.length - 1] = upper[upper.length - 1] = 1;
  let [value, low, high] = [parts, upper, lower].map((curve) => crossing(edges, risen(curve), part));
  if (!feature.edges) {
    [value, low, high] = [value, low, high].map((x) => Math.min(Math.floor(x), edges.at(-2)));
  } else {
    // Numbers need not be spread evenly over a bin.
    low = edges.findLast((edge) => edge <= low);
    high = edges.find((edge) => edge >= high);
  }
  return { value, low: Math.min(low, value), high: Math.max(high, value) };
}

function risen(curve) {
  let most = -Infinity;
  return curve.map((at) => (most = Math.max(most, at)));
}

/** Where a rising curve through the parts at the edges first comes to a part. */
function crossing(edges, parts, part) {
  const place = parts.findIndex((at) => at >= part);
  if (place === 0) return edges[0];
  const inside = (part - parts[place - 1]) / (parts[place] - parts[place - 1]);
  return edges[place - 1] + inside * (edges[place] - edges[place - 1]);
}
