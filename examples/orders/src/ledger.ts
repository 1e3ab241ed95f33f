import pg from "pg";

/**
 * The shop's ledger, a table of its own. It has no unique constraint on purpose: a second charge would be a second row. What
 * keeps it from being written is the transaction.
 */
export class Ledger implements AsyncDisposable {
  readonly #pool: pg.Pool;

  private constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  /** Connects, and creates the table. */
  static async open(databaseUrl: string): Promise<Ledger> {
    const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 });
    pool.on("error", (error) => process.stderr.write(`a database connection was lost: ${error.message}\n`));
    await pool.query(`
      create table if not exists ledger (
        run_id uuid not null,
        node text not null,
        order_id text not null,
        cents integer not null,
        charged_at timestamptz not null default statement_timestamp()
      )`);
    return new Ledger(pool);
  }

  /** The rows that are committed for an order. */
  async countCharges(orderId: string): Promise<number> {
    const { rows } = await this.#pool.query<{ charges: number }>(
      "select count(*)::int as charges from ledger where order_id = $1",
      [orderId],
    );
    return rows[0]?.charges ?? 0;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#pool.end();
  }
}
