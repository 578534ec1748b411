// Numbers and labels for people.

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const EXACT = new Intl.NumberFormat("en", { maximumFractionDigits: 20 });
const UNIT = "\u00a0%";

/** A share as a percentage with about three digits, and as many decimals as its margin of error has. */
export function percent(share, digits = decimals(share)) {
  return `${(100 * share).toFixed(digits)}${UNIT}`;
}

export function decimals(share) {
  const size = Math.abs(100 * share);
  return size === 0 ? 0 : Math.min(4, Math.max(0, 2 - Math.floor(Math.log10(size))));
}

/** An answer in words: its share and its margin of error, with the same number of decimals. */
export function inWords({ share, margin, estimated }) {
  if (share === null) return { share: "no answer", margin: "" };
  if (margin === null) return { share: percent(share), margin: "margin unknown" };
  if (margin === 0) return { share: percent(share), margin: "" };
  const digits = Math.min(4, Math.max(1, decimals(margin) - 1));
  return { share: percent(share, digits), margin: `±\u00a0${percent(margin, digits)}${estimated ? "\u00a0est." : ""}` };
}

export function count(people) {
  return WHOLE.format(people);
}

/** A number of which the interval is known, with two digits of the interval's half length. */
export function number(value, { low, high }) {
  const half = (high - low) / 2;
  const digits = half > 0 ? Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(half)))) : 0;
  return new Intl.NumberFormat("en", { maximumFractionDigits: digits, minimumFractionDigits: Number.isInteger(value) ? 0 : digits }).format(value);
}

/** Whether the margin of error is more than half of the value. */
export function isUnreliable({ share, margin }) {
  return share !== null && (margin === null || margin > share / 2);
}

/** What people read for one value: a bin by both its ends, the last one as open as it is. */
export function labelOf(feature, code) {
  return spanOf(feature, code, code);
}

/** Where a value begins, to be read along an axis. */
export function startOf(feature, code) {
  return feature.edges && code < feature.steps ? EXACT.format(feature.edges[code]) : numbered(feature, feature.labels[code]);
}

/** What people read for the values from one code to another. */
export function spanOf(feature, first, last) {
  if (last >= feature.steps) return feature.labels[first];
  const isOpen = feature.open && last === feature.steps - 1 && feature.steps > 1;
  if (feature.edges) {
    const low = EXACT.format(feature.edges[first]);
    return isOpen ? `≥\u00a0${low}` : `${low}–${EXACT.format(feature.edges[last + 1])}`;
  }
  const [low, high] = [feature.labels[first], feature.labels[last]].map((label) => numbered(feature, label));
  if (isOpen) return `≥\u00a0${low}`;
  return first === last ? low : `${low}–${high}`;
}

/** Separators from 10,000 on: smaller whole numbers may be years. */
function numbered(feature, label) {
  return feature.kind === "integer" && Math.abs(label) >= 10_000 ? EXACT.format(label) : label;
}

/** A condition for people, with runs of neighbouring values as spans. */
export function conditionInWords({ feature, codes }, features) {
  const about = features[feature];
  const spans = about.ordered ? runs(codes, about.steps) : codes.map((code) => [code, code]);
  const shown = spans.slice(0, 6).map(([first, last]) => spanOf(about, first, last));
  const more = spans.length - shown.length;
  const listed = shown.join(" or ") + (more > 0 ? ` or ${more} more` : "");
  return `${about.name} is ${listed || "none of its values"}`;
}

function runs(codes, steps) {
  const found = [];
  for (const code of codes) {
    const last = found.at(-1);
    if (last && last[1] === code - 1 && code < steps) last[1] = code;
    else found.push([code, code]);
  }
  return found;
}
