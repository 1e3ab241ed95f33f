import { createHash } from "node:crypto";
import type { Statement } from "../sql/statement.ts";
import type { Tables } from "../sql/tables.ts";
import { rowTypes } from "./row-types.ts";

/** A statement as `pg` takes it. */
export interface StatementConfig {
  readonly text: string;
  readonly values: unknown[];
  readonly name?: string;
  readonly types?: typeof rowTypes;
  /** Limit on the client's side, in milliseconds; the connection is then given up. */
  readonly query_timeout?: number;
}

/** What runs one statement: a `pg` client or pool. */
export interface StatementRunner {
  // oxlint-disable-next-line typescript/no-explicit-any -- as `pg` has it; rows are as the statement says
  query(config: StatementConfig): Promise<{ rows: any[] }>;
}

/** With a limit of ours on each statement: a half-open connection never answers, and a Pool of the user's may have none. */
export function limited(runner: StatementRunner, limitMs: number): StatementRunner {
  return { query: (config) => runner.query({ ...config, query_timeout: limitMs }) };
}

/** Runs a statement of the engine and gives its rows. @param prepared whether the connection may hold named statements */
export async function execute<Params, Row>(
  runner: StatementRunner,
  tables: Tables,
  statement: Statement<Params, Row>,
  params: Params,
  prepared = false,
): Promise<Row[]> {
  const text = statement.text(tables);
  const config = { text, values: statement.params(params), types: rowTypes };
  const named = prepared && statement.prepared;
  const result = await runner.query(named ? { ...config, name: preparedName(statement.name, text) } : config);
  return result.rows;
}

const names = new Map<string, string>();

/** A name per text: two schemas, or two versions of the package, may share a connection of a user's Pool. */
function preparedName(statement: string, text: string): string {
  let name = names.get(text);
  if (name === undefined) {
    name = `cyclone_${statement}_${createHash("sha256").update(text).digest("hex").slice(0, 12)}`;
    names.set(text, name);
  }
  return name;
}
