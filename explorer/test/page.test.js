// What the page shows, without a browser: `node --test explorer/test/page.test.js`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { closest } from "../src/app/findings.js";
import { inWords, labelOf } from "../src/app/format.js";
import { groupsOf } from "../src/app/groups.js";
import { linked, parsed } from "../src/app/state.js";
import { Release } from "../src/engine/release.js";

const numbers = (first, last) => Array.from({ length: last - first + 1 }, (_, i) => first + i);
const PLAIN = { kind: "categorical", ordered: false, base: null, groups: null, edges: null, ends: null, open: false, unranged: [] };

/** A feature, of which only what a test is about is said. */
function feature(labels, told = {}) {
  return { ...PLAIN, name: "x", labels: labels.map(String), steps: labels.length, ...told };
}

/** A release of records, given as lists of codes. */
function release(features, records) {
  const columns = features.flatMap(({ labels }, i) => labels.map((_, code) => records.flatMap((record, row) => (record[i] === code ? [row] : []))));
  return new Release({
    n: 1000, source: "rows", features, corrections: [], total_noise: 0, normal_95: 1.96, pairs: [[0, 1], [0, 2], [1, 2]],
    rows: { count: records.length, filled: columns.map((rows) => rows.length), places: columns.flat(), values: columns.flat().map(() => 1) },
    variances: { tables: [], joint: [], clamped: [], queries: [], predicted: [], prediction: 0, pairs: [], excesses: [], floor: 0,
      constants: { fitted: 1, excess: 1, correlation: 0.1, unmeasured: 0.5, most_exact: 8 } },
  });
}

const groups = (one, most, records = [[0]], limits = []) => groupsOf(release([one], records), 0, most, limits);

test("groups of values with an order are labelled by their true ends", () => {
  const bins = feature([0, 1000, 2000, 3000, 4000], { kind: "numeric", ordered: true, edges: [0, 1000, 2000, 3000, 4000, 5000] });
  assert.deepEqual(groups(bins, 3).map(({ label }) => label), ["0–2,000", "2,000–4,000", "4,000–5,000"]);
  const open = { ...bins, open: true };
  assert.deepEqual(groups(open, 3).map(({ label }) => label).at(-1), "≥\u00a04,000");
  const ages = feature([...numbers(17, 40), "no"], { kind: "integer", ordered: true, steps: 24 });
  assert.deepEqual(groups(ages, 3).map(({ label }) => label), ["17–24", "25–32", "33–40", "no"]);
  assert.deepEqual(groups(ages, 3).flatMap(({ codes }) => codes), numbers(0, 24));
  const grades = feature([..."abcd"], { ordered: true });
  assert.deepEqual(groups(grades, 2).map(({ label }) => label), ["a–b", "c–d"]);
});

test("limits leave out values, and the rarest categories are one group", () => {
  const ages = feature(numbers(17, 40), { kind: "integer", ordered: true });
  const limits = [{ feature: 0, codes: [0, 1, 2, 10] }];
  assert.deepEqual(groups(ages, 10, [[0]], limits).map(({ label }) => label), ["17", "18", "19", "27"]);
  const letters = feature([..."abcde"]);
  const found = groups(letters, 3, [[1], [1], [1], [3], [3], [0]]);
  assert.deepEqual(found.map(({ label, codes }) => [label, codes]), [["b", [1]], ["d", [3]], ["3 others", [0, 2, 4]]]);
});

test("numbers have separators, and shares as many decimals as their margins", () => {
  assert.equal(labelOf(feature([10_000, 20_000], { kind: "integer" }), 1), "20,000");
  assert.equal(labelOf(feature([2019], { kind: "integer" }), 0), "2019");
  assert.deepEqual(inWords({ share: 0.12345, margin: 0.0042, estimated: true }),
    { share: "12.35\u00a0%", margin: "±\u00a00.42\u00a0%\u00a0est." });
});

test("the closest pair is the one that tells most", () => {
  const records = numbers(0, 63).map((i) => [i % 4, (i >> 2) % 4, i % 2]);
  const features = [feature([..."abcd"]), feature([..."abcd"]), feature([..."no"])];
  assert.deepEqual(closest(release(features, records))[0], [0, 2]);
});

test("a link opens the same view again", () => {
  const one = release([feature([..."abcdef"]), feature([..."no"])], [[0, 0]]);
  for (const hash of ["#ask?if=0:0-2,5&if=1:1&r=1", "#table?rows=1&columns=0&percent=row&only=0:1-3", "#distribution?of=1", "#compare?by=1&what=0:2", "#report", "#promise"])
    assert.equal(linked(parsed(hash, one, "ask")), hash);
  assert.equal(parsed("#nonsense?if=9:1", one, "report").view, "report");
});
