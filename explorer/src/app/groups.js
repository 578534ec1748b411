// Groups of a feature's values that are shown as one bar, row or column.

import { labelOf, spanOf, startOf } from "./format.js";

/** About so many groups at the most: neighbouring values, or the rarest categories together. */
export function groupsOf(release, index, most) {
  const feature = release.features[index];
  if (!feature.ordered) return categories(release, index, most);
  const step = Math.ceil(feature.steps / most);
  const groups = [];
  for (let first = 0; first < feature.steps; first += step) {
    const last = Math.min(first + step, feature.steps) - 1;
    groups.push({ label: spanOf(feature, first, last), tick: startOf(feature, first), codes: range(first, last) });
  }
  for (let code = feature.steps; code < feature.labels.length; code++)
    groups.push({ label: feature.labels[code], tick: feature.labels[code], codes: [code] });
  return groups;
}

function categories(release, index, most) {
  const feature = release.features[index];
  const shares = feature.labels.map((_, code) => release.answerNamed(one(index, [code])).share ?? 0);
  const order = shares.map((_, code) => code).sort((a, b) => shares[b] - shares[a] || a - b);
  const shown = order.length <= most ? order.length : most - 1;
  const groups = order.slice(0, shown).map((code) => ({ label: labelOf(feature, code), codes: [code] }));
  const rest = order.slice(shown).sort((a, b) => a - b);
  return rest.length ? [...groups, { label: `${rest.length} others`, codes: rest }] : groups;
}

/** The query for some values of one feature. */
export function one(feature, codes) {
  return { conditions: [{ feature, codes }], r: 1 };
}

export function range(first, last) {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
