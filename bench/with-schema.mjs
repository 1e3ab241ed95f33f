import { readFileSync } from "node:fs";
import { createClient } from "cyclone-pg";
import pg from "pg";

/**
 * @typedef {{ units: number, steps: number, ms: number, postgresCpuMs: number, nodeCpuMs: number, walBytes: number }} Figures
 * @typedef {{ url: string, schema: string, admin: pg.Client, measure: (units: number, steps: number, work: () => Promise<void>) => Promise<Figures> }} Place
 */

let counter = 0;

/**
 * Runs a scenario in a migrated schema of its own, which goes afterwards.
 * @param {string} url
 * @param {(place: Place) => Promise<Figures>} run
 */
export async function withSchema(url, run) {
  const schema = `bench_${process.pid}_${++counter}`;
  const admin = new pg.Client(url);
  await admin.connect();
  const client = createClient({ connection: url, schema });
  await client.migrate();
  await client.stop();
  try {
    return await run({ url, schema, admin, measure: (units, steps, work) => measure(admin, units, steps, work) });
  } finally {
    await admin.query(`drop schema ${schema} cascade`);
    await admin.end();
  }
}

/**
 * @param {pg.Client} admin
 * @param {number} units
 * @param {number} steps
 * @param {() => Promise<void>} work
 * @returns {Promise<Figures>}
 */
async function measure(admin, units, steps, work) {
  await admin.query("checkpoint"); // so that no scenario pays for another one's dirty pages
  const wal = await admin.query("select pg_current_wal_lsn() as lsn");
  const cpu = process.cpuUsage();
  const server = postgresCpuMs(await postmasterPid(admin));
  const began = performance.now();
  await work();
  const ms = performance.now() - began;
  const used = process.cpuUsage(cpu);
  const after = postgresCpuMs(await postmasterPid(admin));
  const { rows } = await admin.query("select pg_wal_lsn_diff(pg_current_wal_lsn(), $1)::float8 as bytes", [
    wal.rows[0].lsn,
  ]);
  return {
    units,
    steps,
    ms,
    postgresCpuMs: after - server,
    nodeCpuMs: (used.user + used.system) / 1000,
    walBytes: rows[0].bytes,
  };
}

/** @param {pg.Client} admin */
async function postmasterPid(admin) {
  const { rows } = await admin.query("select pg_backend_pid() as pid");
  return parentOf(rows[0].pid);
}

/** @param {number} pid */
function parentOf(pid) {
  return Number(stat(pid)?.[1] ?? 0);
}

/**
 * Fields of /proc/PID/stat after the command's name: state, parent …
 * @param {number | string} pid
 * @returns {string[] | undefined}
 */
function stat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

/**
 * CPU of the server's processes, in milliseconds: those that run now and those that have ended. Linux only; elsewhere 0.
 * @param {number} postmaster
 */
function postgresCpuMs(postmaster) {
  let ticks = 0;
  const own = stat(postmaster);
  if (own === undefined) return 0;
  ticks += Number(own[11]) + Number(own[12]) + Number(own[13]) + Number(own[14]); // with its ended children
  for (const pid of childrenOf(postmaster)) {
    const fields = stat(pid);
    ticks += Number(fields?.[11] ?? 0) + Number(fields?.[12] ?? 0);
  }
  return ticks * 10; // a tick is 1/100 s
}

/** @param {number} pid */
function childrenOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  } catch {
    return [];
  }
}
