import { quoteIdentifier } from "../model/names.ts";

/** The tables and types of one schema, quoted: the only thing that is ever spliced into a statement's text. */
export interface Tables {
  readonly schema: string;
  readonly runs: string;
  readonly steps: string;
  readonly deps: string;
  readonly attempts: string;
  readonly signals: string;
  readonly schedules: string;
  readonly queues: string;
  readonly clients: string;
  readonly migrations: string;
  readonly settings: string;
  readonly runState: string;
  readonly stepState: string;
  readonly runKind: string;
  readonly nodeKind: string;
  readonly attemptOutcome: string;
}

/** @param schema a schema name that `checkSchemaName` has passed */
export function tablesOf(schema: string): Tables {
  const quoted = quoteIdentifier(schema);
  const named = (name: string): string => `${quoted}.cyclone_${name}`;
  return {
    schema: quoted,
    runs: named("runs"),
    steps: named("steps"),
    deps: named("deps"),
    attempts: named("attempts"),
    signals: named("signals"),
    schedules: named("schedules"),
    queues: named("queues"),
    clients: named("clients"),
    migrations: named("migrations"),
    settings: named("settings"),
    runState: named("run_state"),
    stepState: named("step_state"),
    runKind: named("run_kind"),
    nodeKind: named("node_kind"),
    attemptOutcome: named("attempt_outcome"),
  };
}
