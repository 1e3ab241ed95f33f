import { setTimeout as wait } from "node:timers/promises";
import { Client, type QueryResult, type QueryResultRow } from "pg";

/** A statement that was begun, and isn't waited for. */
export interface StagedStatement {
  /** May be awaited late: a failure isn't unhandled meanwhile. */
  readonly result: Promise<QueryResult>;
  readonly settled: boolean;
}

/** One real session of a staged race. */
export interface StageSession {
  readonly name: string;
  readonly pid: number;
  /** Runs a statement to its end. */
  query<Row extends QueryResultRow = QueryResultRow>(text: string, values?: unknown[]): Promise<QueryResult<Row>>;
  /** Begins a statement that is expected to wait. */
  start(text: string, values?: unknown[]): StagedStatement;
}

/** Who waits: a staged session, any session's process id, or whoever runs a named statement of the engine. */
export type Waiting = StageSession | number | { readonly statement: string };

export interface Stage<Name extends string> extends AsyncDisposable {
  readonly sessions: Readonly<Record<Name, StageSession>>;
  /**
   * Resolves with the process id once the session waits for a lock (that `heldBy` holds, if given).
   *
   * @throws after `limitMs`, saying what it does instead
   */
  waitForLock(who: Waiting, options?: { heldBy?: StageSession | number; limitMs?: number }): Promise<number>;
  close(): Promise<void>;
}

export interface StageOptions {
  /** The race ends in a deadlock on purpose: marks the sessions, so that the server's log may show it. */
  readonly deadlock?: boolean;
}

/**
 * Opens sessions for a race whose order is decided step by step: run one up to its lock, see the other wait for it in
 * pg_stat_activity, then go on. Nothing sleeps, and each run takes the same course.
 */
export async function openStage<const Name extends string>(
  url: string,
  names: readonly Name[],
  options: StageOptions = {},
): Promise<Stage<Name>> {
  const prefix = options.deadlock === true ? "staged-deadlock" : "stage";
  const observer = await connect(url, `${prefix}-observer`);
  const actors = await Promise.all(names.map((name) => connect(url, `${prefix}-${name}`)));
  const sessions = Object.fromEntries(
    await Promise.all(names.map(async (name, index) => [name, await sessionOf(name, actors[index] as Client)])),
  ) as Record<Name, StageSession>;
  const end = async (): Promise<void> => {
    // A session that still waits would keep its connection open, and the others' locks with it.
    const pids = Object.values<StageSession>(sessions).map((session) => session.pid);
    await observer.query("select pg_terminate_backend(pid) from unnest($1::int[]) pid", [pids]);
    await Promise.all([...actors, observer].map((client) => client.end().catch(() => {})));
  };
  let ended: Promise<void> | undefined;
  const close = (): Promise<void> => {
    ended ??= end();
    return ended;
  };
  return {
    sessions,
    waitForLock: (who, { heldBy, limitMs = 5_000 } = {}) =>
      waitForLock(observer, who, typeof heldBy === "object" ? heldBy.pid : heldBy, limitMs),
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function connect(url: string, name: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: name });
  client.on("error", () => {});
  await client.connect();
  return client;
}

async function sessionOf(name: string, client: Client): Promise<StageSession> {
  const { rows } = await client.query<{ pid: number }>("select pg_backend_pid() as pid");
  const pid = rows[0]?.pid ?? 0;
  return {
    name,
    pid,
    query: (text, values) => client.query(text, values),
    start: (text, values) => {
      let settled = false;
      const result = client.query(text, values).finally(() => {
        settled = true;
      });
      result.catch(() => {});
      return {
        result,
        get settled() {
          return settled;
        },
      };
    },
  };
}

interface Activity {
  readonly pid: number;
  readonly waits: boolean;
  readonly blockers: number[];
  readonly doing: string;
}

async function waitForLock(
  observer: Client,
  who: Waiting,
  heldBy: number | undefined,
  limitMs: number,
): Promise<number> {
  const deadline = performance.now() + limitMs;
  for (;;) {
    const activities = await activityOf(observer, who);
    const found = activities.find(
      ({ waits, blockers }) => waits && (heldBy === undefined || blockers.includes(heldBy)),
    );
    if (found !== undefined) return found.pid;
    if (performance.now() >= deadline) {
      const doing = activities.map((activity) => activity.doing).join("; ") || "no such session";
      throw new Error(
        `no lock was waited for${heldBy === undefined ? "" : ` that ${heldBy} holds`} within ${limitMs} ms: ${doing}`,
      );
    }
    await wait(10);
  }
}

async function activityOf(observer: Client, who: Waiting): Promise<Activity[]> {
  const byStatement = typeof who === "object" && "statement" in who;
  const { rows } = await observer.query<Activity>(
    `select pid, coalesce(wait_event_type = 'Lock', false) as waits, pg_blocking_pids(pid) as blockers,
       format('pid %s is %s, waits for %s, blocked by %s, runs %s', pid, state, coalesce(wait_event_type || ' ' || wait_event, 'nothing'),
         pg_blocking_pids(pid), left(query, 100)) as doing
     from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle'
       and case when $2::text is null then pid = $1 else query like '/* cyclone:' || $2 || ' */%' end`,
    byStatement ? [null, who.statement] : [typeof who === "number" ? who : who.pid, null],
  );
  return rows;
}
