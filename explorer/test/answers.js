// Answers queries as the page does: node answers.js PAYLOAD < queries.json; prints [[share, margin, estimated, text], …].
// A query with `among` is the share of its conditions among others. One with `numbers`, a feature, is about the numbers of
// people who meet its conditions.

import { readFileSync } from "node:fs";
import { numbersOf } from "../src/engine/numbers.js";
import { Release } from "../src/engine/release.js";

const release = await Release.open(readFileSync(process.argv[2], "utf8"));
const queries = JSON.parse(readFileSync(0, "utf8"));
const told = queries.map((query) => {
  if ("numbers" in query) return numbersOf(release, query.numbers, query.conditions, [0, 0.1, 0.25, 0.5, 0.9, 1]);
  const { share, margin, estimated } = query.among ? release.answerAmong(query.conditions, query.among) : release.answer(query);
  return [share, margin, estimated, release.text(query)];
});
console.log(JSON.stringify(told));
