import type { Client } from "pg";
import { loadVolume, NO_VOLUME, type VolumeSizes } from "./volume.ts";

/** When the planner's statistics were taken that a statement is planned with, however the tables look by now. */
export const MOMENTS = {
  installed: "never since the migration",
  empty: "by VACUUM ANALYZE of the empty tables",
  hollow: "when the tables had pages, but next to no rows",
  running: "when everything was running",
  finished: "when everything had finished",
  elsewhere: "when this bucket was empty, and others were full",
  fresh: "just now",
  restored: "never, and those of the migration are lost, as when a dump is restored",
} as const;

export type Moment = keyof typeof MOMENTS;

/** What pg_class says about a table or an index. */
interface RelationFigures {
  readonly name: string;
  readonly pages: number;
  readonly tuples: number;
  readonly visible: number;
}

const TABLES = ["cyclone_runs", "cyclone_steps", "cyclone_deps", "cyclone_attempts"] as const;
const RELATIONS = `c.oid = any ($1::text[]::regclass[]::oid[]) or c.oid in (select indexrelid from pg_index where indrelid = any ($1::text[]::regclass[]::oid[]))`;
const ROWS = 10_000;

/**
 * Statistics of several moments of the tables, of which any can be put back: rows of pg_statistic are parked under the name of
 * another table, and figures of pg_class are written again. Needs a superuser, and tables that nothing else uses.
 */
export class StatisticsMoments {
  readonly #client: Client;
  readonly #figures = new Map<Moment, readonly RelationFigures[]>();
  /** Whose rows of pg_statistic stand where the planner reads them. */
  #current: string | undefined;

  private constructor(client: Client) {
    this.#client = client;
  }

  /** Brings migrated, empty tables into one state after the other, and leaves them empty. */
  static async take(client: Client): Promise<StatisticsMoments> {
    const moments = new StatisticsMoments(client);
    for (const table of TABLES) await client.query(`alter table ${table} set (autovacuum_enabled = false)`);
    await moments.#keep("installed");
    await moments.#each("vacuum analyze");
    await moments.#keep("empty");
    await moments.#park("seen");
    await moments.#load({ ...NO_VOLUME, finished: ROWS });
    // Ten rows at the table's end keep its pages: what retention leaves of a busy day.
    for (const [table, id] of [
      ["cyclone_runs", "id"],
      ["cyclone_steps", "run_id"],
    ] as const) {
      await client.query(
        `delete from ${table} where ${id} not in (select ${id} from ${table} order by ctid desc limit 10)`,
      );
    }
    await moments.#each("vacuum");
    await moments.#see("hollow");
    await moments.#load({ ...NO_VOLUME, available: ROWS });
    await client.query(
      `update cyclone_steps set state = 'running', lease_owner = gen_random_uuid(), lease_expiry = now(), finished_at = null`,
    );
    await moments.#see("running");
    await moments.#load({ ...NO_VOLUME, finished: ROWS });
    await client.query(
      `update cyclone_steps set state = 'completed', finished_at = now(), lease_owner = null, lease_expiry = null`,
    );
    await client.query(`update cyclone_runs set state = 'completed', finished_at = now(), remaining = 0`);
    await moments.#see("finished");
    for (const table of TABLES) await client.query(`delete from ${table} where bucket = 0`);
    await moments.#see("elsewhere");
    await moments.#each("truncate");
    return moments;
  }

  /** From here on the planner sees the statistics of that moment. */
  async adopt(moment: Moment): Promise<void> {
    if (this.#current !== undefined) await this.#park(this.#current);
    if (moment === "restored") {
      await this.#client.query("delete from pg_statistic where starelid = any ($1::text[]::regclass[]::oid[])", [
        TABLES,
      ]);
      await this.#write(TABLES.map(() => ({ name: "", pages: 0, tuples: -1, visible: 0 })));
    } else if (moment === "fresh") {
      await this.#each("analyze");
      this.#current = moment;
    } else {
      const parked = moment === "installed" || moment === "empty" ? "seen" : moment;
      await this.#move(
        (table) => `parked_${parked}_${table}`,
        (table) => table,
      );
      this.#current = parked;
      await this.#write(this.#figures.get(moment) ?? []);
    }
  }

  async #see(moment: Moment): Promise<void> {
    await this.#each("analyze");
    await this.#keep(moment);
    await this.#park(moment);
  }

  async #load(sizes: VolumeSizes): Promise<void> {
    await this.#each("truncate");
    await loadVolume((text) => this.#client.query(text), sizes);
  }

  async #each(command: string): Promise<void> {
    for (const table of TABLES) await this.#client.query(`${command} ${table}`);
  }

  async #keep(moment: Moment): Promise<void> {
    const { rows } = await this.#client.query<RelationFigures>(
      `select c.relname as name, c.relpages as pages, c.reltuples as tuples, c.relallvisible as visible from pg_class c where ${RELATIONS}`,
      [TABLES],
    );
    this.#figures.set(moment, rows);
  }

  /** Without names: the same figures for all. */
  async #write(figures: readonly RelationFigures[]): Promise<void> {
    await this.#client.query(
      `update pg_class c set relpages = f.pages, reltuples = f.tuples, relallvisible = f.visible
       from jsonb_to_recordset($2::jsonb) f(name text, pages int, tuples real, visible int)
       where (${RELATIONS}) and f.name in (c.relname, '')`,
      [TABLES, JSON.stringify(figures.length > 0 && figures[0]?.name === "" ? figures.slice(0, 1) : figures)],
    );
  }

  async #park(name: string): Promise<void> {
    for (const table of TABLES) await this.#client.query(`create table if not exists parked_${name}_${table} ()`);
    await this.#move(
      (table) => table,
      (table) => `parked_${name}_${table}`,
    );
    this.#current = undefined;
  }

  /** A column that ANALYZE leaves alone keeps what it has, whatever the moment. */
  async #move(from: (table: string) => string, to: (table: string) => string): Promise<void> {
    for (const table of TABLES) {
      await this.#client.query(
        `update pg_statistic s set starelid = $2::text::regclass
         where s.starelid = $1::text::regclass and not exists (
           select from pg_attribute a where a.attrelid = $3::text::regclass and a.attnum = s.staattnum and a.attstattarget = 0
         )`,
        [from(table), to(table), table],
      );
    }
  }
}
