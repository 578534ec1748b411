// Groups of a feature's values that are shown as one bar, row or column.

import { labelOf, spanOf, startOf } from "./format.js";

/** About so many groups at the most: neighbouring values, or the rarest categories together.
 * Values that the limits leave out are left out. */
export function groupsOf(release, index, most, limits = []) {
  const feature = release.features[index];
  const limit = limits.find((condition) => condition.feature === index);
  const codes = limit ? limit.codes : range(0, feature.labels.length - 1);
  if (!feature.ordered) return categories(release, index, most, codes);
  const step = Math.ceil(codes.filter((code) => code < feature.steps).length / most);
  const groups = [];
  for (const code of codes) {
    const last = groups.at(-1)?.codes;
    if (last && code < feature.steps && last.at(-1) === code - 1 && last.length < step) last.push(code);
    else groups.push({ codes: [code] });
  }
  return groups.map(({ codes: [...some] }) => ({
    label: spanOf(feature, some[0], some.at(-1)), tick: startOf(feature, some[0]), codes: some,
  }));
}

function categories(release, index, most, codes) {
  const feature = release.features[index];
  const shares = new Map(codes.map((code) => [code, release.answerAll([{ feature: index, codes: [code] }]).share ?? 0]));
  const order = [...codes].sort((a, b) => shares.get(b) - shares.get(a) || a - b);
  const shown = order.length <= most ? order.length : most - 1;
  const groups = order.slice(0, shown).map((code) => ({ label: labelOf(feature, code), codes: [code] }));
  const rest = order.slice(shown).sort((a, b) => a - b);
  return rest.length ? [...groups, { label: `${rest.length} others`, codes: rest }] : groups;
}

export function range(first, last) {
  return Array.from({ length: last - first + 1 }, (_, i) => first + i);
}
