import { createClient } from "cyclone-pg";
import pg from "pg";

/**
 * The floor: the same rows as `jobs`, claimed and completed by two bare statements without leases, dependencies, values or handlers.
 * @param {import("./scenarios.mjs").Setting & { count: number }} setting
 * @param {import("cyclone-pg").Step<number, number>} step
 */
export async function bareJobs({ url, schema, measure, count, concurrency }, step) {
  await enqueue(url, schema, step, count);
  return measure(count, count, async () => {
    await Promise.all([1, 2].map(() => bareWorker(url, schema, concurrency)));
  });
}

/**
 * @param {string} url
 * @param {string} schema
 * @param {number} batch
 */
async function bareWorker(url, schema, batch) {
  const client = new pg.Client(url);
  await client.connect();
  try {
    for (;;) {
      const { rows } = await client.query(
        `with picked as materialized (
           select run_id from ${schema}.cyclone_steps where bucket = 0 and queue = 'default' and step = 'noop' and state = 'available'
           order by priority desc, available_at limit $1 for no key update skip locked
         )
         update ${schema}.cyclone_steps s set state = 'running', lease_owner = $2, lease_expiry = statement_timestamp() + interval '30 s'
         from picked p where s.bucket = 0 and s.run_id = p.run_id and s.key = 0 and s.item = 0 returning s.run_id, s.input`,
        [batch, "01890000-0000-7000-8000-000000000000"],
      );
      if (rows.length === 0) return;
      await client.query(
        `with x as materialized (select * from unnest((select $1::uuid[]), (select $2::jsonb[])) x(run_id, output)),
         s as (update ${schema}.cyclone_steps s set state = 'completed', output = x.output, finished_at = statement_timestamp(), lease_owner = null, lease_expiry = null
           from x where s.bucket = 0 and s.run_id = x.run_id and s.key = 0 and s.item = 0 returning s.run_id)
         update ${schema}.cyclone_runs r set state = 'completed', remaining = 0, finished_at = statement_timestamp() from s where r.bucket = 0 and r.id = s.run_id`,
        [rows.map((row) => row.run_id), rows.map((row) => JSON.stringify(row.input))],
      );
    }
  } finally {
    await client.end();
  }
}

/**
 * The floor of completionTx: BEGIN, the user's insert, the completion of step and run, COMMIT, on as many connections as the worker has.
 * @param {import("./scenarios.mjs").Setting & { count: number }} setting
 * @param {import("cyclone-pg").Step<number, number>} step
 */
export async function bareCompletionTx({ url, schema, admin, measure, count }, step) {
  await enqueue(url, schema, step, count);
  await admin.query(`create table ${schema}.ledger (run_id uuid, node text, amount int)`);
  const { rows } = await admin.query(`select id from ${schema}.cyclone_runs`);
  const ids = rows.map((row) => row.id);
  return measure(count, count, async () => {
    await Promise.all([1, 2, 3, 4, 5, 6].map(() => bareTransactions(url, schema, ids)));
  });
}

/**
 * @param {string} url
 * @param {string} schema
 * @param {string[]} ids
 */
async function bareTransactions(url, schema, ids) {
  const client = new pg.Client(url);
  await client.connect();
  for (let id = ids.pop(); id !== undefined; id = ids.pop()) {
    await client.query("begin");
    await client.query(`insert into ${schema}.ledger (run_id, node, amount) values ($1, $2, $3)`, [id, "noop", 1]);
    await client.query(
      `with s as (update ${schema}.cyclone_steps set state = 'completed', finished_at = statement_timestamp() where bucket = 0 and run_id = $1 and key = 0 and item = 0 returning run_id)
       update ${schema}.cyclone_runs r set state = 'completed', remaining = 0, finished_at = statement_timestamp() from s where r.bucket = 0 and r.id = s.run_id`,
      [id],
    );
    await client.query("commit");
  }
  await client.end();
}

/**
 * @param {string} url
 * @param {string} schema
 * @param {import("cyclone-pg").Step<number, number>} step
 * @param {number} count
 */
async function enqueue(url, schema, step, count) {
  const client = createClient({ connection: url, schema });
  await step.enqueueMany(
    client,
    Array.from({ length: count }, (_, i) => i),
  );
  await client.stop();
}
