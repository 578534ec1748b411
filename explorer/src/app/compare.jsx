// One condition compared between groups of people.

import { useMemo } from "preact/hooks";
import { Intervals } from "./chart.jsx";
import { FeatureSelect, starting, Values } from "./conditions.jsx";
import { Shares } from "./distribution.jsx";
import { conditionInWords } from "./format.js";
import { merged } from "../engine/release.js";
import { groupsOf } from "./groups.js";
import { Elsewhere, spoken } from "./sharing.jsx";
import { Where } from "./table.jsx";

const MOST = 20;

export function Compare({ release, state, change }) {
  const { by, what } = state;
  const { limits } = state;
  const rows = useMemo(
    () => groupsOf(release, by, MOST, limits).map(({ label, codes }) => {
      const group = merged([{ feature: by, codes }], limits);
      const people = release.answerAll(merged([what], group));
      return { label, ...release.answerAmong([what], group), people, text: textAmong(release, what, group) };
    }),
    [by, JSON.stringify(what), JSON.stringify(limits)],
  );
  const words = conditionInWords(what, release.features);
  return (
    <section aria-labelledby="compare-title">
      <h2 id="compare-title">The share for whom <bdi>{words}</bdi>, by <bdi>{release.features[by].name}</bdi></h2>
      <div class="columns even">
        <fieldset>
          <legend>Compare the share with</legend>
          <FeatureSelect release={release} label="Feature" value={what.feature}
            change={(feature) => change({ what: starting(release, feature), by: feature === by ? what.feature : by })} />
          <Values key={what.feature} feature={release.features[what.feature]} codes={what.codes} change={(codes) => change({ what: { ...what, codes } })} />
        </fieldset>
        <fieldset>
          <legend>between groups of</legend>
          <FeatureSelect release={release} label="Groups" value={by}
            change={(index) => change({ by: index, what: index === what.feature ? starting(release, by) : what })} />
        </fieldset>
      </div>
      <Where release={release} limits={limits} change={change} />
      <Intervals title={`The share for whom ${words}, by ${release.features[by].name}`} rows={rows} />
      <p class="small">A dot is the share within a group; the line is its margin of error (95 %). Where the lines of two groups overlap, they may not differ.</p>
      <Shares release={release} name={release.features[by].name} rows={rows} />
      <Elsewhere texts={spoken(release, ...rows.map(({ text }) => text))} />
    </section>
  );
}

/** A share among a group, in the language of analysts. */
function textAmong(release, what, group) {
  const text = (conditions) => release.text({ conditions, r: conditions.length });
  return `share of ${text([what])} among ${text(group)}`;
}
