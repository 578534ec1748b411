// A cross-table of two or three features, with percentages, margins, totals and a colour scale.

import { useMemo } from "preact/hooks";
import { Conditions, FeatureSelect } from "./conditions.jsx";
import { count, inWords, isUnreliable } from "./format.js";
import { DownloadButton, Elsewhere, spokenTable } from "./sharing.jsx";
import { tablesOf } from "./tables.js";

const PERCENT = { all: "of everybody", total: "of the whole table", row: "of each row", column: "of each column" };

export function Table({ release, state, change }) {
  const { rows, columns, layers, percent, limits } = state;
  const chosen = [rows, columns, layers].filter((index) => index !== null);
  // A feature that already stands elsewhere changes places with the one it replaces.
  const put = (place, index) => {
    const before = ["rows", "columns", "layers"].find((other) => other !== place && state[other] === index && index !== null);
    change({ [place]: index, ...(before && { [before]: state[place] }) });
  };
  return (
    <section aria-labelledby="table-title">
      <h2 id="table-title">A table of {chosen.map((index) => release.features[index].name).join(" by ")}</h2>
      <div class="row controls">
        <FeatureSelect release={release} label="Rows" shown value={rows} change={(index) => put("rows", index)} />
        <FeatureSelect release={release} label="Columns" shown value={columns} change={(index) => put("columns", index)} />
        <FeatureSelect release={release} label="One table for each" shown value={layers} none="–"
          change={(index) => put("layers", index)} />
        <span class="field">
          <label for="percent">Percentages</label>
          <select id="percent" value={percent} onChange={(event) => change({ percent: event.target.value })}>
            {Object.entries(PERCENT).map(([key, words]) => <option value={key}>{words}</option>)}
          </select>
        </span>
      </div>
      <Where release={release} limits={limits} change={change} />
      <Tables release={release} rows={rows} columns={columns} layers={layers} percent={percent} where={limits} />
    </section>
  );
}

/** Conditions that limit a view to some people. */
export function Where({ release, limits, change }) {
  return (
    <details class="where" open={limits.length > 0}>
      <summary>{limits.length ? `Only people who meet ${limits.length} condition${limits.length > 1 ? "s" : ""}` : "Limit to some people"}</summary>
      <Conditions release={release} conditions={limits} noun="Limit" change={(chosenLimits) => change({ limits: chosenLimits })} />
    </details>
  );
}

function Tables({ release, rows, columns, layers, percent, where }) {
  const key = JSON.stringify([rows, columns, layers, percent, where]);
  const tables = useMemo(() => tablesOf(release, { rows, columns, layers, percent, where }), [key]);
  const names = [layers, rows, columns].filter((index) => index !== null).map((index) => release.features[index].name);
  // The command's percentages are of the first or the last feature, in all layers together.
  const isSpoken = layers === null || percent === "all" || percent === "total";
  const heads = [...names, "share", "margin of error (95 %)", "count", "count margin", "estimated", "unreliable"];
  const lines = tables.flatMap(({ label, grid }) => grid.flatMap(({ name, cells }) => cells.map((cell) => [
    ...(layers === null ? [] : [label]), name, cell.name, cell.share, cell.margin,
    cell.people === null ? null : Math.round(cell.people), cell.peopleMargin === null ? null : Math.round(cell.peopleMargin),
    cell.estimated ? "yes" : "", isUnreliable(cell) ? "yes" : "",
  ])));
  return (
    <>
      {tables.map((table) => <Grid key={table.label} table={table} names={names.slice(-2)} />)}
      <p class="small">Each cell: its share with its margin of error (95 %), and the number of people. est.: The margin is estimated. † The margin is more than half of the share.
        The more colour a cell has, the larger is its share. Totals are answers of the release, not sums of the rounded cells.</p>
      <DownloadButton name={names.join(" by ")} heads={heads} rows={lines} />
      <Elsewhere texts={isSpoken ? spokenTable(release, names, where, percent) : {}} />
    </>
  );
}

export function Grid({ table: { label, grid }, names }) {
  const inner = grid.slice(0, -1).flatMap(({ cells }) => cells.slice(0, -1)).map(({ share }) => share ?? 0);
  const most = Math.max(...inner, 1e-9);
  const isTotal = (row, place) => row === grid.length - 1 || (names.length > 1 && place === grid[0].cells.length - 1);
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Table ${names.join(" by ")} ${label}`}>
      <table class="cross">
        {label && <caption><bdi>{label}</bdi></caption>}
        <thead>
          <tr><th scope="col" rowSpan={2}><bdi>{names[0]}</bdi></th><th scope="colgroup" colSpan={grid[0].cells.length}><bdi>{names[1]}</bdi></th></tr>
          <tr>{grid[0].cells.map(({ name }) => <th scope="col" title={name}><bdi>{name}</bdi></th>)}</tr>
        </thead>
        <tbody>
          {grid.map(({ name, cells }, row) => (
            <tr class={row === grid.length - 1 ? "total" : ""}>
              <th scope="row" title={name}><bdi>{name}</bdi></th>
              {cells.map((cell, place) => <Cell cell={cell} weight={isTotal(row, place) ? 0 : (cell.share ?? 0) / most} />)}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Cell({ cell, weight }) {
  const words = inWords(cell);
  return (
    <td style={{ "--weight": `${Math.round(70 * Math.sqrt(Math.max(0, weight)))}%` }} data-share={cell.share} data-margin={cell.margin}>
      <b>{words.share}{isUnreliable(cell) && <span title="The margin is more than half of the share">†</span>}</b>
      <span class="margin">{words.margin}{words.margin && cell.people !== null && " · "}</span>
      {cell.people !== null && <span class="people" title={`${count(cell.people)} people`}>{count(cell.people)}</span>}
    </td>
  );
}
