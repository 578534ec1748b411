// The share of a part among a whole.

export function among(part, whole) {
  if (part.share === null || !whole.share) return { share: null, margin: null };
  const share = Math.min(1, part.share / whole.share);
  if (part.margin === null || whole.margin === null) return { share, margin: null };
  const margin = Math.hypot(part.margin, share * whole.margin) / whole.share;
  return { share, margin: Math.min(margin, Math.max(share, 1 - share)) };
}
