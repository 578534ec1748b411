// A query in the language of analysts; mirrors src/thresher/queries/writing.py.

/** The text of a query; the command and Python read it back. */
export function written({ conditions, r }, features) {
  const listed = conditions.map((condition) => conditionText(condition, features[condition.feature])).join(", ");
  if (r === conditions.length) return `all of: ${listed}`;
  return r === 1 ? `any of: ${listed}` : `${r} of: ${listed}`;
}

function conditionText({ codes }, feature) {
  const name = quoted(feature.name, /[=!,{}"\s<>≤≥≠]/);
  const labels = codes.map((code) => quoted(feature.labels[code], /[,{}"]|\.\.|^\s|\s$|\sand\s/i));
  if (codes.length === 1) return `${name}=${labels[0]}`;
  const span = spanOf(codes, feature);
  return span ? `${name}=${span}` : `${name} in {${labels.join(",")}}`;
}

/** Codes as a range, if they follow each other and the range can be read back. */
function spanOf(codes, feature) {
  const [first, last] = [codes[0], codes.at(-1)];
  if (!feature.ordered || codes.length < 2 || last >= feature.steps || last - first + 1 !== codes.length) return null;
  if (feature.unranged.includes(first) || feature.unranged.includes(last)) return null;
  // Numbers in bins are below the upper end.
  const span = `${feature.labels[first]}..${(feature.ends ?? feature.labels)[last]}`;
  return /[,{}"]|\.\.\.|\sand\s/i.test(span) || span.split("..").length !== 2 ? null : span;
}

function quoted(word, special) {
  return special.test(word) ? `"${word.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"` : word;
}
