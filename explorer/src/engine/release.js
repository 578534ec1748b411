// A release in the browser; mirrors src/thresher/release/release.py.

import { written } from "./language.js";
import { opened } from "./payload.js";
import { ratio } from "./ratio.js";
import { equivalents } from "./rewriting.js";
import { sourceOf } from "./sources.js";
import { uncertaintyOf } from "./uncertainty.js";

export const NONE = { share: null, margin: null, estimated: false };
const EVERYBODY = { share: 1, margin: 0, estimated: false };

export class Release {
  constructor(facts) {
    this.facts = facts;
    this.n = facts.n;
    this.features = facts.features;
    this.source = sourceOf(facts);
    this.uncertainty = uncertaintyOf(facts, this.source);
  }

  static async open(text) {
    return new Release(await opened(text));
  }

  /** The share of people who meet a query, its margin of error, and whether that is estimated. */
  answer(query) {
    const ways = equivalents(query, this.features)
      .map((way) => ({ way, share: this.source.answer(way) }))
      .filter(({ share }) => share !== null);
    if (!ways.length) return NONE;
    const best = ways.length === 1 ? ways[0] : this.uncertainty.best(ways);
    return { share: best.share, ...this.uncertainty.margin(best.way, best.share) };
  }

  /** The same where the release answers only queries that name more features: these then allow every value. */
  answerNamed(query) {
    if (query.r < query.conditions.length) return this.answer(query);
    const asked = query.conditions.map(({ feature }) => feature);
    // Where no table has the features themselves, views of them may be in one.
    const named = this.source.answerable(asked) ?? asked;
    const others = named.slice(query.conditions.length).map((feature) => this.anyOf(feature));
    const conditions = [...query.conditions, ...others];
    return this.answer({ conditions, r: conditions.length });
  }

  /** The share of people who meet all of some conditions; of everybody where there are none. */
  answerAll(conditions) {
    if (!conditions.length) return EVERYBODY;
    return this.answerNamed({ conditions, r: conditions.length });
  }

  /** The share of those who meet `part` among those who meet `whole`. */
  answerAmong(part, whole) {
    const both = merged(part, whole);
    const among = this.answerAll(whole);
    const size = (conditions) => conditions.reduce((sum, { codes }) => sum + codes.length, 0);
    const isWhole = both.length === whole.length && size(both) === size(whole);
    return ratio(isWhole ? among : this.answerAll(both), among);
  }

  /** The condition that everybody meets. */
  anyOf(feature) {
    return { feature, codes: this.features[feature].labels.map((_, code) => code) };
  }

  text(query) {
    return written(query, this.features);
  }
}

/** Conditions of which all must hold, with one condition per feature. */
export function merged(part, whole) {
  const others = whole.filter(({ feature }) => !part.some((condition) => condition.feature === feature));
  const narrowed = part.map(({ feature, codes }) => {
    const limit = whole.find((condition) => condition.feature === feature);
    return { feature, codes: limit ? codes.filter((code) => limit.codes.includes(code)) : codes };
  });
  return [...narrowed, ...others];
}
