import { existsSync, readdirSync } from "node:fs";
import { join, parse } from "node:path";
import { describe, expect, it } from "vitest";
import { defineAction, defineStep } from "../../src/index.ts";
import { type Packaging, packageProgram } from "../support/bundled-program.ts";
import { type FixtureProcess, spawnFixture } from "../support/process.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const program = join(import.meta.dirname, "fixtures/blocking-worker.mjs");

const LEASE_MS = 1_500;

interface Neighbour {
  readonly calls: () => number;
}

/** A worker of the same steps on the same schema, that would take over. */
async function neighbour(schema: string): Promise<Neighbour> {
  let calls = 0;
  const compute = defineStep("compute", async (ctx, input: { n: number }) => {
    calls += 1;
    const tx = await ctx.completionTx();
    await tx.query(`insert into ${schema}.ledger values ($1, 'neighbour')`, [ctx.runId]);
    return input.n + 1_000;
  });
  const pay = defineAction("pay", (_ctx, _n: number) => {});
  const client = testClient(database, { handlers: [compute, pay], leaseTtl: LEASE_MS, schema });
  await database.query(`create table ${schema}.ledger (run_id uuid, by text)`);
  await client.start();
  return { calls: () => calls };
}

async function computeRow(schema: string): Promise<unknown> {
  const { rows } = await database.query(
    `select state::text as state, attempts, reclaims, lease_epoch, output from ${schema}.cyclone_steps where node = 'compute'`,
  );
  return rows[0];
}

async function ledgerOf(schema: string): Promise<string[]> {
  const { rows } = await database.query<{ by: string }>(`select by from ${schema}.ledger`);
  return rows.map((row) => row.by);
}

/** What it said, but for what depends on the moment. */
const said = (running: FixtureProcess): string[] =>
  running.lines.filter((line) => /^(result|called|blocked|lost|aborted|completed compute|warned No thread)/.test(line));

async function stop(running: FixtureProcess): Promise<void> {
  running.send("stop");
  expect(await running.ended).toEqual({ status: 0, signal: null });
}

/** Runs the program with a handler that blocks for five leases, and a neighbour that would take the step over. */
async function blockFor(
  schema: string,
  options: { packaging?: Packaging; maxBlockedMs: number; afterwards?: string },
): Promise<{ running: FixtureProcess; other: Neighbour }> {
  const { path, cwd } = await packageProgram(program, options.packaging ?? "build");
  if (options.packaging?.endsWith("bundle") === true) {
    expect(readdirSync(cwd)).toHaveLength(1);
    expect(existsSync(join(parse(cwd).root, "node_modules"))).toBe(false);
  }
  const numbers = [LEASE_MS, 5 * LEASE_MS, options.maxBlockedMs].map(String);
  const running = spawnFixture(path, [database.url, schema, ...numbers, options.afterwards ?? ""], {}, { cwd });
  await running.waitForLine(/^called$/);
  return { running, other: await neighbour(schema) };
}

describe("a handler that blocks the event loop for five leases", () => {
  it("R50: keeps its lease and is called once: from the build, from one ESM file and from one CommonJS file in an empty folder", {
    timeout: 60_000,
  }, async () => {
    const packagings: readonly Packaging[] = ["build", "esm bundle", "cjs bundle"];
    const runOne = async (packaging: Packaging): Promise<void> => {
      const schema = `blocked_${packaging.replace(" ", "_")}`;
      const { running, other } = await blockFor(schema, { packaging, maxBlockedMs: 300_000 });
      await running.waitForLine(/^result/);
      expect(said(running)).toEqual(["called", "blocked no longer", "completed compute", "result 42"]);
      expect(other.calls()).toBe(0);
      const once = { state: "completed", attempts: 1, reclaims: 0, lease_epoch: 1, output: 42 };
      expect(await computeRow(schema)).toEqual(once);
      await stop(running);
    };
    await Promise.all(packagings.map(runOne));
  });

  it("R20: beyond maxBlocked loses it: another worker completes the step, this one is told, and its completionTx rolls back", {
    timeout: 60_000,
  }, async () => {
    const [late, told] = await Promise.all([
      blockFor("written_too_late", { maxBlockedMs: 1_000, afterwards: "write" }),
      blockFor("told_so", { maxBlockedMs: 1_000, afterwards: "wait" }),
    ]);
    for (const { running, other } of [late, told]) {
      await running.waitForLine(/^lost compute$/);
      expect(await running.waitForLine(/^result/)).toBe("result 1041");
      expect(other.calls()).toBe(1);
    }
    expect(said(late.running).sort()).toEqual(["blocked no longer", "called", "lost compute", "result 1041"]);
    expect(await ledgerOf("written_too_late")).toEqual(["neighbour"]);
    const twice = { state: "completed", attempts: 1, reclaims: 1, lease_epoch: 2, output: 1041 };
    expect(await computeRow("written_too_late")).toEqual(twice);
    expect(await told.running.waitForLine(/^aborted/)).toBe("aborted CYCLONE_BLOCKED");
    await Promise.all([stop(late.running), stop(told.running)]);
  });
});
