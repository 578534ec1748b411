// The cells of a cross-table.

import { merged } from "../engine/release.js";
import { groupsOf } from "./groups.js";

const MOST = { rows: 30, columns: 12, layers: 8 };

/** The cells of each table, each with its share of everybody, of its row or of its column. */
export function tablesOf(release, { rows, columns, layers, percent, where }, most = MOST) {
  const total = { label: "Total", codes: null };
  const values = (index, size) => groupsOf(release, index, size, where);
  const down = [...values(rows, most.rows), total];
  const across = columns === null ? [total] : [...values(columns, most.columns), total];
  const each = layers === null ? [{ label: "", codes: null }] : values(layers, most.layers);
  const conditionsOf = (...some) => some.filter(([, group]) => group.codes).map(([feature, group]) => ({ feature, codes: group.codes }));
  return each.map((layer) => {
    const within = merged(conditionsOf([layers, layer]), where);
    const grid = down.map((row) => ({
      name: row.label,
      cells: across.map((column) => {
        const part = conditionsOf([rows, row], [columns, column]);
        const whole = percent === "row" ? conditionsOf([rows, row]) : percent === "column" ? conditionsOf([columns, column]) : [];
        const people = release.answerAll(merged(part, within));
        const answer = percent === "all" ? people : release.answerAmong(part, merged(whole, within));
        return {
          name: column.label, ...answer,
          people: people.share === null ? null : people.share * release.n,
          peopleMargin: people.margin === null ? null : people.margin * release.n,
        };
      }),
    }));
    return { label: layer.label, grid };
  });
}
