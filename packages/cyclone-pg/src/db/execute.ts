import type { Statement } from "../sql/statement.ts";
import type { Tables } from "../sql/tables.ts";
import { rowTypes } from "./row-types.ts";

/** What runs one statement: a `pg` client or pool. */
export interface StatementRunner {
  // oxlint-disable-next-line typescript/no-explicit-any -- as `pg` has it; rows are as the statement says
  query(config: { text: string; values: unknown[]; name?: string; types?: typeof rowTypes }): Promise<{ rows: any[] }>;
}

/** Runs a statement of the engine and gives its rows. */
export async function execute<Params, Row>(
  runner: StatementRunner,
  tables: Tables,
  statement: Statement<Params, Row>,
  params: Params,
): Promise<Row[]> {
  const result = await runner.query({
    text: statement.text(tables),
    values: statement.params(params),
    types: rowTypes,
  });
  return result.rows;
}
