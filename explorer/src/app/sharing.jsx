// Taking something along: copied texts, links and CSV files.

import { useState } from "preact/hooks";

/** Texts with a button each that copies them, and a link to the view. */
export function Elsewhere({ texts, open = false }) {
  return (
    <details open={open}>
      <summary>Ask the same elsewhere</summary>
      {Object.entries(texts).map(([name, text]) => (
        <div class="copy">
          <span class="small">{name}</span>
          <CopyButton text={text} name={name} />
          <code tabIndex={0}>{text}</code>
        </div>
      ))}
      <CopyButton text={location.href}>Copy a link to this view</CopyButton>
    </details>
  );
}

function CopyButton({ text, name, children }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    setSaid((await copied(text)) ? "Copied" : "Select the text and copy it by hand");
    setTimeout(() => setSaid(""), 2000);
  };
  return (
    <button type="button" class="quiet" onClick={copy} aria-label={children ? undefined : `Copy: ${name}`}>
      {said || children || "Copy"}<span class="hidden" role="status">{said}</span>
    </button>
  );
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

/** Lines of cells as a CSV file that the browser saves. */
export function DownloadButton({ name, heads, rows }) {
  const save = () => {
    const text = [heads, ...rows].map((row) => row.map(cell).join(",")).join("\r\n");
    const link = document.createElement("a");
    // The mark at the start tells spreadsheets that it is UTF-8.
    link.href = URL.createObjectURL(new Blob(["\ufeff", text, "\r\n"], { type: "text/csv" }));
    link.download = `${name.replace(/[^\p{L}\p{N}]+/gu, "-").slice(0, 80)}.csv`;
    link.click();
    URL.revokeObjectURL(link.href);
  };
  return <button type="button" onClick={save}>Download CSV</button>;
}

/** A cell of a CSV file; text that a spreadsheet would take for a formula is made text. */
function cell(value) {
  if (value === null) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The command and the line of Python that give the same answers as the page. */
export function spoken(release, ...texts) {
  const { name } = release.facts;
  const many = texts.length > 1;
  return {
    [many ? "Questions" : "Question"]: texts.join("\n"),
    "Command": `thresher answer ${[name, ...texts].map(shell).join(" ")}`,
    "Python": `th.load(${quoted(name)}).${many ? `answer_many([${texts.map(quoted).join(", ")}])` : `answer(${quoted(texts[0])})`}`,
  };
}

/** The same for a table. */
export function spokenTable(release, features, limits, percent) {
  const { name } = release.facts;
  const where = limits.length ? release.text({ conditions: limits, r: limits.length }) : null;
  const of = percent === "all" ? null : percent;
  const options = [where && `--where ${shell(where)}`, of && `--percent ${of}`].filter(Boolean);
  const words = [where && `where=${quoted(where)}`, of && `percent=${quoted(of)}`].filter(Boolean);
  return {
    "Command": ["thresher table", ...[name, ...features].map(shell), ...options].join(" "),
    "Python": `th.load(${quoted(name)}).table(${[...features.map(quoted), ...words].join(", ")})`,
  };
}

/** The same for the mean, sum and quartiles of numbers. */
export function spokenNumbers(release, feature, limits) {
  const { name } = release.facts;
  const where = limits.length ? release.text({ conditions: limits, r: limits.length }) : null;
  return {
    "Command for the numbers": ["thresher numbers", ...[name, feature].map(shell), where && `--where ${shell(where)}`].filter(Boolean).join(" "),
    "Python for the numbers": `th.load(${quoted(name)}).numbers(${quoted(feature)}${where ? `, where=${quoted(where)}` : ""})`,
  };
}

function quoted(text) {
  return JSON.stringify(text);
}

function shell(word) {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
