// Choosing conditions by clicking: a feature, and some of its values.

import { useId, useState } from "preact/hooks";
import { labelOf } from "./format.js";
import { range } from "./groups.js";

const MANY = 24;
const MOST_SHOWN = 500;

/** A list of conditions with a button for one more. */
export function Conditions({ release, conditions, change, noun = "Condition" }) {
  const taken = conditions.map(({ feature }) => feature);
  const free = release.features.findIndex((_, index) => !taken.includes(index));
  const replace = (place, condition) => change(conditions.map((c, i) => (i === place ? condition : c)));
  return (
    <div class="conditions">
      {conditions.map((condition, place) => (
        <fieldset key={place}>
          <legend>{noun} {place + 1}</legend>
          <div class="row">
            <FeatureSelect release={release} value={condition.feature} label={`Feature of ${noun.toLowerCase()} ${place + 1}`}
              taken={taken} change={(feature) => replace(place, starting(release, feature))} />
            <button type="button" class="quiet" onClick={() => change(conditions.filter((_, i) => i !== place))}>
              Remove<span class="hidden"> {noun.toLowerCase()} {place + 1}</span>
            </button>
          </div>
          <Values key={condition.feature} feature={release.features[condition.feature]} codes={condition.codes}
            change={(codes) => replace(place, { ...condition, codes })} />
        </fieldset>
      ))}
      {free >= 0 && (
        <button type="button" onClick={() => change([...conditions, starting(release, free)])}>+ Add a {noun.toLowerCase()}</button>
      )}
    </div>
  );
}

/** The condition that a newly chosen feature begins with: its first value. */
export function starting(release, feature) {
  const { ordered, steps } = release.features[feature];
  return { feature, codes: ordered ? range(0, steps - 1) : [0] };
}

export function FeatureSelect({ release, value, change, label, taken = [], none = null, shown = false }) {
  const id = useId();
  return (
    <span class="field">
      <label for={id} class={shown ? "" : "hidden"}>{label}</label>
      <select id={id} value={value ?? ""} onChange={(event) => change(event.target.value === "" ? null : Number(event.target.value))}>
        {none !== null && <option value="">{none}</option>}
        {release.features.map(({ name }, index) => (
          <option value={index} disabled={index !== value && taken.includes(index)}>{name}</option>
        ))}
      </select>
    </span>
  );
}

/** Some values of a feature: a range where they have an order, or single ones. */
export function Values({ feature, codes, change }) {
  const numbers = codes.filter((code) => code < feature.steps);
  const isRun = numbers.length > 0 && numbers.at(-1) - numbers[0] + 1 === numbers.length;
  const [single, setSingle] = useState(!feature.ordered || (codes.length > 0 && !isRun));
  const asRange = feature.ordered && !single && (isRun || !codes.length);
  return (
    <div class="values">
      {asRange ? <Range feature={feature} codes={codes} change={change} /> : <Checks feature={feature} codes={codes} change={change} />}
      {feature.ordered && (
        <button type="button" class="quiet" onClick={() => {
          if (!asRange && numbers.length) change([...range(numbers[0], numbers.at(-1)), ...codes.filter((c) => c >= feature.steps)]);
          setSingle(asRange);
        }}>
          {asRange ? "Choose single values" : "Choose a range"}
        </button>
      )}
    </div>
  );
}

function Range({ feature, codes, change }) {
  const extra = codes.filter((code) => code >= feature.steps);
  const [first, last] = [codes[0] ?? 0, codes.filter((code) => code < feature.steps).at(-1) ?? feature.steps - 1];
  const id = useId();
  const end = (name, value, set, from, to) => (
    <span class="field">
      <label for={id + name}>{name}</label>
      <select id={id + name} value={value} onChange={(event) => set(Number(event.target.value))}>
        {range(from, to).map((code) => <option value={code}>{labelOf(feature, code)}</option>)}
      </select>
    </span>
  );
  return (
    <div class="row">
      {end("from", first, (code) => change([...range(code, Math.max(code, last)), ...extra]), 0, feature.steps - 1)}
      {end("to", last, (code) => change([...range(Math.min(first, code), code), ...extra]), 0, feature.steps - 1)}
      {range(feature.steps, feature.labels.length - 1).map((code) => (
        <Check label={feature.labels[code]} checked={codes.includes(code)} change={(on) => change(toggled(codes, code, on))} />
      ))}
    </div>
  );
}

function Checks({ feature, codes, change }) {
  const [sought, setSought] = useState("");
  const chosen = new Set(codes);
  const many = feature.labels.length > MANY;
  const shown = feature.labels.map((_, code) => [code, labelOf(feature, code)])
    .filter(([, label]) => label.toLowerCase().includes(sought.toLowerCase()));
  return (
    <div>
      {many && <input type="search" aria-label={`Find a value of ${feature.name}`} placeholder="Find a value" value={sought}
        onInput={(event) => setSought(event.target.value)} />}
      <div class={many ? "checks many" : "checks"} role="group" aria-label={`Values of ${feature.name}`} tabIndex={many ? 0 : undefined}>
        {shown.slice(0, MOST_SHOWN).map(([code, label]) => (
          <Check key={code} label={label} checked={chosen.has(code)} change={(on) => change(toggled(codes, code, on))} />
        ))}
      </div>
      <p class="small">
        {shown.length > MOST_SHOWN && `The first ${MOST_SHOWN} are listed: type to find others. `}
        {codes.length} of {feature.labels.length} values chosen.{" "}
        <button type="button" class="quiet" onClick={() => change(feature.labels.map((_, code) => code).filter((code) => !chosen.has(code)))}>
          Choose the others instead
        </button>
      </p>
    </div>
  );
}

function Check({ label, checked, change }) {
  return (
    <label class="check" title={label}>
      <input type="checkbox" checked={checked} onChange={(event) => change(event.target.checked)} /> <bdi>{label}</bdi>
    </label>
  );
}

function toggled(codes, code, on) {
  return on ? [...codes, code].sort((a, b) => a - b) : codes.filter((other) => other !== code);
}
