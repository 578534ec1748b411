// A question by clicking, and its answer at once.

import { Conditions } from "./conditions.jsx";
import { conditionInWords, count, inWords, isUnreliable } from "./format.js";
import { Elsewhere, spoken } from "./sharing.jsx";

export function Ask({ release, state, change }) {
  const { conditions } = state;
  const k = conditions.length;
  const r = Math.min(state.r ?? k, k);
  return (
    <div class="columns">
      <section aria-labelledby="ask-title">
        <h2 id="ask-title">What share of {release.facts.counted} meet …</h2>
        {k > 1 && (
          <p class="row">
            <span class="field">
              <label for="r">How many of the conditions must hold?</label>
              <select id="r" value={r} onChange={(event) => change({ r: Number(event.target.value) === k ? null : Number(event.target.value) })}>
                <option value={k}>all {k}</option>
                {Array.from({ length: k - 2 }, (_, i) => k - 1 - i).map((some) => <option value={some}>at least {some} of {k}</option>)}
                <option value={1}>at least one of {k}</option>
              </select>
            </span>
          </p>
        )}
        <Conditions release={release} conditions={conditions} change={(chosen) => change({ conditions: chosen, r: state.r && Math.min(state.r, chosen.length) })} />
      </section>
      <Result release={release} query={{ conditions, r }} />
    </div>
  );
}

function Result({ release, query }) {
  const { conditions, r } = query;
  if (!conditions.length) return <section class="result"><p>Add a condition to begin. Asking costs no privacy, however often.</p></section>;
  const answer = release.answerNamed(query);
  const words = inWords(answer);
  const { n, facts } = release;
  const k = conditions.length;
  const rule = k === 1 ? "" : r === k ? "all of: " : r === 1 ? "at least one of: " : `at least ${r} of: `;
  return (
    <section class="result" aria-labelledby="answer-title">
      <h2 id="answer-title" class="small">The answer</h2>
      <output aria-live="polite">
        <strong class="share" data-share={answer.share} data-margin={answer.margin}>{words.share}</strong>{" "}
        <span class="margin">{words.margin}</span>
        {answer.share === null ? <p>This release measured no table that has an answer to this question.</p> : (
          <p>About <b>{count(answer.share * n)}</b>{answer.margin !== null && <> (±&nbsp;{count(answer.margin * n)})</>} of {facts.about}{count(n)} {facts.counted}.</p>
        )}
      </output>
      {answer.share !== null && <Scale answer={answer} />}
      {isUnreliable(answer) && <p class="note">† {answer.margin === null ? "No measurement says how far off this may be."
        : "The margin of error is more than half of the share: too uncertain to rely on."}</p>}
      <p class="small">{rule}{conditions.map((condition) => conditionInWords(condition, release.features)).join("; ")}.</p>
      <p class="small">The margin is for 95 % confidence: of 100 such intervals, about 95 hold the true share among the {facts.counted}.
        {answer.estimated && " It is estimated (est.) from errors elsewhere: nothing that was measured bounds the error of this answer."}</p>
      <Elsewhere texts={spoken(release, release.text(query))} open={innerWidth > 768} />
    </section>
  );
}

/** Where the share lies between 0 and 100 %, with its margin. */
function Scale({ answer: { share, margin } }) {
  const [low, high] = [Math.max(0, share - (margin ?? 0)), Math.min(1, share + (margin ?? 0))];
  return (
    <div class="scale" aria-hidden="true">
      <div class="track"><i class="span" style={{ left: `${100 * low}%`, width: `${100 * (high - low)}%` }} /><i class="at" style={{ left: `${100 * share}%` }} /></div>
      <div class="ends"><span>0 %</span><span>50 %</span><span>100 %</span></div>
    </div>
  );
}
