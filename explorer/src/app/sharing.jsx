// Taking something along: copied texts, links and CSV files.

import { useState } from "preact/hooks";

/** Texts with a button each that copies them. */
export function Copies({ texts }) {
  return (
    <div class="copies">
      {Object.entries(texts).map(([name, text]) => (
        <div class="copy">
          <span class="small">{name}</span>
          <CopyButton text={text} name={name} />
          <code tabIndex={0}>{text}</code>
        </div>
      ))}
    </div>
  );
}

export function CopyButton({ text, name, children }) {
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

/** The command and the line of Python that give the same answer as the page. */
export function spoken(release, text) {
  const name = release.facts.name;
  return {
    "Question": text,
    "Command": `thresher answer ${shell(name)} ${shell(text)}`,
    "Python": `th.load(${JSON.stringify(name)}).answer(${JSON.stringify(text)})`,
  };
}

export function shell(word) {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
