// The same query about features or about views of them; mirrors src/thresher/queries/rewriting.py.

const MOST_WAYS = 64;

/** The query itself, and the same about other views or features, whole groups permitting; none if a column stands twice. */
export function equivalents(query, features) {
  const views = features.flatMap((feature, place) => (feature.base === null ? [] : [{ ...feature, place }]));
  if (!views.length) return [query];
  const asked = query.conditions.map(({ feature }) => feature);
  const columns = query.conditions.map((condition) => onColumn(condition, features[condition.feature]));
  if (new Set(columns.map(({ feature }) => feature)).size < columns.length) return [];
  const rank = ({ feature }) => (asked.includes(feature) ? 0 : 1);
  let found = [[]];
  for (const column of columns) {
    const ways = waysOf(column, views).sort((a, b) => rank(a) - rank(b));
    found = found.flatMap((some) => ways.map((way) => [...some, way]));
  }
  return found.slice(0, MOST_WAYS).map((conditions) => ({ conditions, r: query.r }));
}

function onColumn(condition, { base, groups }) {
  if (base === null) return condition;
  return { feature: base, codes: groups.flatMap((group, code) => (condition.codes.includes(group) ? [code] : [])) };
}

/** A condition on a column, and the same on each view in which its values are whole groups. */
function waysOf(column, views) {
  const found = [column];
  for (const { place, base, groups } of views) {
    if (base !== column.feature) continue;
    const codes = [...new Set(column.codes.map((code) => groups[code]))].sort((a, b) => a - b);
    const size = groups.filter((group) => codes.includes(group)).length;
    if (size === column.codes.length) found.push({ feature: place, codes });
  }
  return found;
}
