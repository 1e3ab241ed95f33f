import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type ClientOptions, createClient, defineStep } from "../../src/index.ts";
import { eventually } from "../support/eventually.ts";
import { latch } from "../support/latch.ts";
import { useOwnServer } from "../support/own-server.ts";
import { type LogLine, recordingLog } from "../support/test-client.ts";

// A server that asks one role for its password, at each connection.
const folder = mkdtempSync(join(tmpdir(), "cyclone-hba-"));
chmodSync(folder, 0o755);
const hba = join(folder, "pg_hba.conf");
writeFileSync(hba, "host all rotated all scram-sha-256\nhost all all all trust\n", { mode: 0o644 });
const server = useOwnServer({ hba_file: hba });
/** Renewed every third of it: longer than a busy machine lets a process wait. */
const LEASE_MS = 5_000;

beforeAll(async () => {
  await server.query("create role rotated login");
  await server.query("grant select, insert, update, delete on all tables in schema public to rotated");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Token {
  current: string;
  asked: number;
}

/** The server's password, which short-lived tokens are one example of, and what counts how often it was asked for. */
async function issue(password: string, token: Token = { current: "", asked: 0 }): Promise<Token> {
  await server.query(`alter role rotated password '${password}'`);
  token.current = password;
  return token;
}

function connectionOf(token: Token): pg.PoolConfig {
  const { hostname, port, pathname } = new URL(server.url);
  const password = async (): Promise<string> => {
    token.asked += 1;
    return token.current;
  };
  return { host: hostname, port: Number(port), database: pathname.slice(1), user: "rotated", password };
}

/** A worker with one step, in whose handler it stays until it is let go; and what it warned of. */
async function heldWorker(connection: NonNullable<ClientOptions["connection"]>) {
  const [entered, gate] = [latch(), latch()];
  let calls = 0;
  const held = defineStep("held", async () => {
    calls += 1;
    entered.open();
    await gate.opened;
    return calls;
  });
  const { log, lines } = recordingLog();
  const client = createClient({ connection, handlers: [held], leaseTtl: LEASE_MS, pollInterval: "50ms", log });
  onTestFinished(() => client.stop({ timeout: 0 }));
  await client.start();
  const job = await held.enqueue(client);
  await entered.opened;
  return { job, letGo: () => gate.open(), lines };
}

const isAboutLogin = ({ message, fields }: LogLine): boolean =>
  /password|authentication/.test(`${message} ${JSON.stringify(fields)}`);

const leaseOf = async (id: string) =>
  (
    await server.query("select lease_epoch, reclaims, lease_expiry from public.cyclone_steps where run_id = $1", [id])
  )[0];

/** Waits until the lease, which is still the first one, has been renewed for longer than its length. */
async function renewedForALease(id: string): Promise<void> {
  const before = Number((await leaseOf(id))?.["lease_expiry"]);
  await eventually(async () => {
    const lease = await leaseOf(id);
    expect(lease).toMatchObject({ lease_epoch: 1, reclaims: 0 });
    expect(Number(lease?.["lease_expiry"]) - before).toBeGreaterThan(LEASE_MS);
  }, 60_000);
}

describe("a password that is a function", () => {
  it("is asked for each connection, that of the renewals in its thread too", async () => {
    const token = await issue("first");
    const { job, letGo, lines } = await heldWorker(connectionOf(token));
    await renewedForALease(job.id);
    letGo();
    expect(await job.result()).toBe(1);
    expect(token.asked).toBeGreaterThan(3);
    expect(lines.filter(isAboutLogin)).toEqual([]);
  });

  it("is asked for anew when connections are lost after it was changed: the handler keeps its lease", async () => {
    const token = await issue("second");
    const { job, letGo } = await heldWorker(connectionOf(token));
    await issue("third", token);
    const asked = token.asked;
    await server.query("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'rotated'");
    await renewedForALease(job.id);
    letGo();
    expect(await job.result()).toBe(1);
    expect(token.asked).toBeGreaterThan(asked);
  });

  it("may be that of a Pool of the user's", async () => {
    const pool = new pg.Pool({ ...connectionOf(await issue("fourth")), max: 2 });
    pool.on("error", () => undefined);
    onTestFinished(() => pool.end());
    const { job, letGo, lines } = await heldWorker(pool);
    await renewedForALease(job.id);
    letGo();
    expect(await job.result()).toBe(1);
    expect(lines.filter(isAboutLogin)).toEqual([]);
  });
});
