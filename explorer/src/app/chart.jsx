// Pictures, drawn by Observable Plot. Each has a table beside it, so a picture is never the only way to a number.

import { barX, barY, dot, gridX, gridY, link, plot, ruleX, ruleY } from "@observablehq/plot";
import { useEffect, useRef } from "preact/hooks";
import { percent } from "./format.js";

const LONGEST = 28;

/** A picture as wide as there is room, drawn again when that changes. */
function Picture({ title, options }) {
  const place = useRef(null);
  useEffect(() => {
    const room = place.current;
    let drawn = 0;
    const draw = () => {
      const width = Math.min(room.clientWidth, 900);
      if (!width || width === drawn) return;
      drawn = width;
      const svg = plot({ style: { background: "none", fontSize: "12px", overflow: "visible" }, ...options(width), width });
      // The picture is one thing with one name; its parts have none.
      svg.querySelectorAll("[aria-label]").forEach((part) => part.removeAttribute("aria-label"));
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", title);
      room.replaceChildren(svg);
    };
    draw();
    const watch = new ResizeObserver(draw);
    watch.observe(room);
    return () => watch.disconnect();
  });
  return <div class="picture" ref={place} />;
}

const PERCENT = (share) => percent(share).replace(/\.?0+(?=\u00a0)/, (zeros) => (zeros.startsWith(".") ? "" : zeros));

/** Shares with their margins as whiskers: upright bars in order, or lying ones with room for labels. */
export function Bars({ title, rows, ordered }) {
  return ordered && rows.length > 6 ? <Upright title={title} rows={rows} /> : <Lying title={title} rows={rows} />;
}

function Upright({ title, rows }) {
  const whiskers = rows.filter(({ margin }) => margin !== null);
  const options = (width) => {
    const longest = Math.min(16, Math.max(...rows.map(({ tick }) => [...tick].length)));
    const step = Math.ceil((rows.length * (12 + 7 * longest)) / width);
    return {
      height: 240, marginLeft: 48, marginBottom: 40,
      x: { type: "band", domain: rows.map((_, i) => i), label: null, padding: 0.1,
        ticks: rows.map((_, i) => i).filter((i) => i % step === 0), tickFormat: (i) => clipped(rows[i].tick, 16), tickSize: 0 },
      y: { label: null, grid: true, tickFormat: PERCENT, ticks: 4, domain: [0, top(rows)] },
      marks: [
        barY(rows, { x: (_, i) => i, y: "share", fill: "var(--bar)" }),
        ruleX(whiskers, { x: (row) => rows.indexOf(row), y1: low, y2: high, stroke: "var(--whisker)", strokeWidth: 1.5 }),
        ruleY([0], { stroke: "currentColor" }),
      ],
    };
  };
  return <Picture title={title} options={options} />;
}

function Lying({ title, rows }) {
  const options = (width) => ({
    ...places(rows, width), x: { label: null, tickFormat: PERCENT, ticks: 4, domain: [0, top(rows)], axis: "top" },
    marks: [
      gridX({ ticks: 4 }),
      barX(rows, { y: (_, i) => i, x: "share", fill: "var(--bar)" }),
      ruleY(rows.filter(({ margin }) => margin !== null), {
        y: (row) => rows.indexOf(row), x1: low, x2: high, stroke: "var(--whisker)", strokeWidth: 2,
      }),
      ruleX([0], { stroke: "currentColor" }),
    ],
  });
  return <Picture title={title} options={options} />;
}

/** A dot and its margin of error per group. */
export function Intervals({ title, rows }) {
  const known = rows.filter(({ share }) => share !== null);
  const options = (width) => ({
    ...places(rows, width), x: { label: null, tickFormat: PERCENT, ticks: 4, domain: [0, top(known)], axis: "top" },
    marks: [
      gridX({ ticks: 4 }),
      link(known.filter(({ margin }) => margin !== null), {
        y: (row) => rows.indexOf(row), x1: low, x2: high, stroke: "var(--whisker)", strokeWidth: 3,
      }),
      dot(known, { y: (row) => rows.indexOf(row), x: "share", r: 5, fill: "var(--bar)", stroke: "var(--page)" }),
      ruleX([0], { stroke: "currentColor" }),
    ],
  });
  return <Picture title={title} options={options} />;
}

/** Measured answers, with bars for their noise, against the release's. */
export function Agreement({ points }) {
  const most = Math.max(...points.map((p) => Math.max(p.measured + p.noise, p.answer)), 1e-9);
  const inside = points.filter((p) => Math.abs(p.measured - p.answer) <= p.noise).length;
  const scale = (label) => ({ domain: [0, most], label, tickFormat: PERCENT, ticks: 4 });
  const options = (width) => ({
    height: Math.min(width, 420), marginLeft: 56, marginBottom: 44,
    x: scale("measured, with its noise (95 %)"), y: scale("the release's answer"),
    marks: [
      gridX({ ticks: 4 }), gridY({ ticks: 4 }),
      link([0], { x1: 0, y1: 0, x2: most, y2: most, stroke: "currentColor", strokeDasharray: "4 3" }),
      ruleY(points, { y: "answer", x1: (p) => Math.max(0, p.measured - p.noise), x2: (p) => p.measured + p.noise,
        stroke: "var(--whisker)", strokeOpacity: 0.5 }),
      dot(points, { x: (p) => Math.max(0, p.measured), y: "answer", r: 2.5, fill: "var(--bar)" }),
    ],
  });
  return <Picture title={`${points.length} measured answers against the release's; ${inside} agree within their noise`} options={options} />;
}

const MARKS = ["circle", "cross", "square", "triangle", "diamond", "star", "wye"];

/** The largest error of each threshold, a mark per method, on a logarithmic scale. */
export function Errors({ labels, compared }) {
  const methods = Object.keys(compared);
  const rows = methods.flatMap((method) => compared[method].map((error, i) => ({ method, i, error: Math.max(error, 1e-6) })));
  const options = (width) => ({
    ...places(labels.map((label) => ({ label })), width, 18),
    x: { type: "log", label: null, axis: "top", ticks: 4 },
    symbol: { domain: methods, range: MARKS, legend: true },
    marks: [gridX(), dot(rows, { x: "error", y: "i", symbol: "method", stroke: "currentColor", fill: "var(--page)", r: 3.5 })],
  });
  return <Picture title="The largest error of each threshold" options={options} />;
}

function places(rows, width, height = 26) {
  const longest = Math.min(LONGEST, Math.max(4, ...rows.map(({ label }) => [...label].length)));
  const left = Math.min(12 + 7.2 * longest, 0.45 * width);
  return {
    height: 40 + height * rows.length, marginLeft: left, marginTop: 28, marginBottom: 4,
    y: { type: "band", domain: rows.map((_, i) => i), label: null, padding: 0.3, tickSize: 0,
      tickFormat: (i) => clipped(rows[i].label, Math.floor((left - 12) / 7)) },
  };
}

function clipped(label, most) {
  const letters = [...label];
  return letters.length <= most ? label : `${letters.slice(0, most - 1).join("")}…`;
}

const low = ({ share, margin }) => Math.max(0, share - margin);
const high = ({ share, margin }) => Math.min(1, share + margin);
const top = (rows) => Math.max(...rows.map(({ share, margin }) => Math.min(1, share + (margin ?? 0))), 1e-6) * 1.02;
