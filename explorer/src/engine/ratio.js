// The share of a part in a whole that contains it; mirrors `ratio` in src/thresher/release/cross_table.py.

export function ratio(part, whole) {
  const estimated = part.estimated || whole.estimated;
  if (part.share === null || !(whole.share > 0)) return { share: null, margin: null, estimated };
  const share = Math.min(1, part.share / whole.share);
  if (part === whole) return { share, margin: 0, estimated };
  if (part.margin === null || whole.margin === null) return { share, margin: null, estimated };
  const [a, b] = [part.margin ** 2, whole.margin ** 2];
  const squared = a + share ** 2 * b - 2 * share * Math.min(a, b / 2);
  return { share, margin: Math.min(Math.sqrt(squared) / whole.share, Math.max(share, 1 - share)), estimated };
}
