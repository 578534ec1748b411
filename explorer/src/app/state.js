// What a link says: the view and what is chosen in it.

export const VIEWS = { ask: "Ask", table: "Tables", distribution: "Distributions", compare: "Compare", report: "Report" };

/** The state that a part of an address after # says; whatever it does not say is chosen for the reader. */
export function parsed(hash, release, first) {
  const [view, said] = hash.replace(/^#/, "").split("?");
  const given = new URLSearchParams(said ?? "");
  const sizes = release.features.map(({ labels }) => labels.length);
  const feature = (key) => {
    const index = given.has(key) ? Number(given.get(key)) : NaN;
    return Number.isInteger(index) && index >= 0 && index < sizes.length ? index : null;
  };
  const conditions = (key) => given.getAll(key).map((text) => conditionOf(text, sizes))
    .filter((c, i, all) => c && all.findIndex((other) => other?.feature === c.feature) === i);
  const r = Number(given.get("r"));
  return {
    view: view in VIEWS || view === "promise" ? view : first,
    conditions: conditions("if"),
    limits: conditions("only"),
    r: Number.isInteger(r) && r >= 1 ? r : null,
    rows: feature("rows"),
    columns: feature("columns"),
    layers: feature("layers"),
    percent: ["all", "total", "row", "column"].includes(given.get("percent")) ? given.get("percent") : "all",
    of: feature("of"),
    by: feature("by"),
    what: conditionOf(given.get("what") ?? "", sizes),
  };
}

/** The same state as a part of an address. */
export function linked(state) {
  const said = new URLSearchParams();
  const say = (key, value) => value !== null && said.append(key, value);
  if (state.view === "table") {
    for (const key of ["rows", "columns", "layers"]) say(key, state[key]);
    say("percent", state.percent);
  }
  if (state.view === "distribution") say("of", state.of);
  if (state.view === "compare") {
    say("by", state.by);
    say("what", state.what && conditionText(state.what));
  }
  if (state.view === "ask") {
    state.conditions.forEach((condition) => say("if", conditionText(condition)));
    say("r", state.r);
  } else if (["table", "distribution", "compare"].includes(state.view)) {
    state.limits.forEach((condition) => say("only", conditionText(condition)));
  }
  const text = said.toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
  return `#${state.view}${text && "?"}${text}`;
}

function conditionText({ feature, codes }) {
  const spans = [];
  for (const code of codes) {
    const last = spans.at(-1);
    if (last && last[1] === code - 1) last[1] = code;
    else spans.push([code, code]);
  }
  return `${feature}:${spans.map(([low, high]) => (low === high ? low : `${low}-${high}`)).join()}`;
}

function conditionOf(text, sizes) {
  const found = /^(\d{1,5}):([\d,-]*)$/.exec(text);
  if (!found || Number(found[1]) >= sizes.length) return null;
  const size = sizes[Number(found[1])];
  const codes = new Set();
  for (const span of found[2].split(",").filter(Boolean)) {
    const [low, high = low] = span.split("-").map(Number);
    for (let code = low; code <= Math.min(high, size - 1); code++) codes.add(code);
  }
  return { feature: Number(found[1]), codes: [...codes].sort((a, b) => a - b) };
}
