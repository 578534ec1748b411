// The share of a part among a whole.

export function among(part, whole) {
  const estimated = part.estimated || whole.estimated;
  if (part.share === null || !whole.share) return { share: null, margin: null, estimated };
  const share = Math.min(1, part.share / whole.share);
  if (part.margin === null || whole.margin === null) return { share, margin: null, estimated };
  const margin = Math.hypot(part.margin, share * whole.margin) / whole.share;
  return { share, margin: Math.min(margin, Math.max(share, 1 - share)), estimated };
}
