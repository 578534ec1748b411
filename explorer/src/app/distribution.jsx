// The distribution of one feature, for everybody or for some people.

import { useMemo } from "preact/hooks";
import { Bars } from "./chart.jsx";
import { FeatureSelect } from "./conditions.jsx";
import { count, inWords, isUnreliable, number } from "./format.js";
import { hasNumbers, numbersOf } from "../engine/numbers.js";
import { merged } from "../engine/release.js";
import { groupsOf } from "./groups.js";
import { DownloadButton, Elsewhere, spokenNumbers, spokenTable } from "./sharing.jsx";
import { Where } from "./table.jsx";

const MOST = { ordered: 100, categories: 40 };

export function Distribution({ release, state, change }) {
  const feature = release.features[state.of];
  const { limits } = state;
  const rows = useMemo(() => sharesOf(release, state.of, limits), [state.of, JSON.stringify(limits)]);
  return (
    <section aria-labelledby="distribution-title">
      <h2 id="distribution-title">How <bdi>{feature.name}</bdi> is distributed</h2>
      <div class="row controls"><FeatureSelect release={release} label="Feature" shown value={state.of} change={(of) => change({ of })} /></div>
      <Where release={release} limits={limits} change={change} />
      <Bars title={`Shares of the values of ${feature.name}`} rows={rows} ordered={feature.ordered} />
      {hasNumbers(feature) && <InBrief release={release} index={state.of} limits={limits} />}
      <Shares release={release} name={feature.name} rows={rows} />
      <Elsewhere texts={{
        ...spokenTable(release, [feature.name], limits, limits.length ? "total" : "all"),
        ...(hasNumbers(feature) && spokenNumbers(release, feature.name, limits)),
      }} />
    </section>
  );
}

const NAMES = { 0.25: "Lower quartile", 0.5: "Median", 0.75: "Upper quartile" };

/** The mean, sum and quartiles of numbers. */
function InBrief({ release, index, limits }) {
  const found = useMemo(() => numbersOf(release, index, limits), [index, JSON.stringify(limits)]);
  if (!found) return null;
  const { name } = release.features[index];
  const rows = [["Mean", found.mean], ["Sum", found.sum], ...found.quantiles.map((quantile) => [NAMES[quantile.part], quantile])];
  return (
    <>
      <table class="brief" aria-label={`Mean, sum and quartiles of ${name}`}>
        <thead><tr><th scope="col"><bdi>{name}</bdi></th><th scope="col">value</th><th scope="col">95 % interval</th></tr></thead>
        <tbody>
          {rows.map(([label, found]) => (
            <tr>
              <th scope="row">{label}</th>
              <td data-value={found.value}>{number(found.value, found)}</td>
              <td>{number(found.low, found)} to {number(found.high, found)}{found.estimated && "\u00a0est."}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="small">Numbers are taken to be spread evenly inside of a bin; the intervals allow for that. Labels that are no numbers are left out.</p>
    </>
  );
}

/** The share of each value, or of groups of values, among those who meet some conditions. */
export function sharesOf(release, index, where = [], most = MOST) {
  const feature = release.features[index];
  return groupsOf(release, index, feature.ordered ? most.ordered : most.categories, where).map(({ label, tick, codes }) => {
    const part = [{ feature: index, codes }];
    const answer = where.length ? release.answerAmong(part, where) : release.answerAll(part);
    return { label, tick, codes, ...answer, people: where.length ? release.answerAll(merged(part, where)) : answer };
  });
}

/** The numbers of a picture, to read and to take along. */
export function Shares({ release, name, rows }) {
  const heads = [name, "share", "margin of error (95 %)", "count", "count margin"];
  const people = (share) => (share === null ? null : Math.round(share * release.n));
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label={`Numbers of ${name}`}>
        <table>
          <thead><tr><th scope="col"><bdi>{name}</bdi></th><th scope="col">share</th><th scope="col">margin of error (95 %)</th>
            <th scope="col">{release.facts.counted}</th></tr></thead>
          <tbody>
            {rows.map((row) => {
              const words = inWords(row);
              return (
                <tr>
                  <th scope="row"><bdi>{row.label}</bdi></th>
                  <td data-share={row.share} data-margin={row.margin}>{words.share}{isUnreliable(row) && "†"}</td>
                  <td>{words.margin}</td>
                  <td>{row.people.share === null ? "" : count(row.people.share * release.n)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
      <p class="small">† The margin of error is more than half of the share. est.: The margin is estimated.</p>
      <DownloadButton name={name} heads={heads} rows={rows.map((row) => [row.label, row.share, row.margin, people(row.people.share), people(row.people.margin)])} />
    </>
  );
}
