import type { Tables } from "./tables.ts";

/**
 * One SQL statement as data: its text for a schema, how its parameters travel, and a sample by which tests can run and
 * explain it. The text is constant per schema; values are `$n`, batches are arrays.
 */
export interface Statement<Params, Row> {
  /** Leads the text as a comment, so that logs and pg_stat_statements name it. */
  readonly name: string;
  readonly text: (tables: Tables) => string;
  readonly params: (params: Params) => unknown[];
  readonly sample: Params;
  /**
   * `true`: prepared under its name, so that a single-row statement isn't planned each time. Batches stay unnamed: a plan
   * that was cached on an empty table is quadratic on a full one (docs/decisions/0002-plans.md).
   */
  readonly prepared: boolean;
  readonly row?: Row;
}

/** Defines a statement; see {@link Statement}. */
export function defineStatement<Params, Row>(definition: {
  readonly name: string;
  readonly text: (tables: Tables) => string;
  readonly params: (params: Params) => unknown[];
  readonly sample: Params;
  readonly prepared?: boolean;
}): Statement<Params, Row> {
  const texts = new WeakMap<Tables, string>();
  const text = (tables: Tables): string => {
    let known = texts.get(tables);
    if (known === undefined) {
      known = `/* cyclone:${definition.name} */\n${definition.text(tables).trim()}`;
      texts.set(tables, known);
    }
    return known;
  };
  return { ...definition, text, prepared: definition.prepared ?? false };
}
