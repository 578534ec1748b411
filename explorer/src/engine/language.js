// A query in the language of analysts; mirrors `written` in src/thresher/queries/language.py.

/** The text of a query; the command and Python read it back. */
export function written({ conditions, r }, features) {
  const listed = conditions.map((condition) => conditionText(condition, features[condition.feature])).join(", ");
  if (r === conditions.length) return `all of: ${listed}`;
  return r === 1 ? `any of: ${listed}` : `${r} of: ${listed}`;
}

function conditionText({ codes }, feature) {
  const name = quoted(feature.name, /[=!,{}"\s]/);
  const labels = codes.map((code) => quoted(feature.labels[code], /[,{}"]|\.\.|^\s|\s$/));
  if (codes.length === 1) return `${name}=${labels[0]}`;
  if (isRange(codes, feature)) return `${name}=${labels[0]}..${labels.at(-1)}`;
  return `${name} in {${labels.join(",")}}`;
}

function isRange(codes, feature) {
  if (!feature.ordered || codes.length < 2 || codes.at(-1) >= feature.steps) return false;
  if (codes.at(-1) - codes[0] + 1 !== codes.length) return false;
  if ([codes[0], codes.at(-1)].some((code) => feature.unranged.includes(code))) return false;
  const span = `${feature.labels[codes[0]]}..${feature.labels[codes.at(-1)]}`;
  return !/[,{}"]|\.\.\./.test(span) && span.split("..").length === 2;
}

function quoted(word, special) {
  return special.test(word) ? `"${word.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"` : word;
}
