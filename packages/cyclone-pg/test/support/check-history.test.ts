import { Client } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createLooseTables, healthyEvents, runs, writeHealthyData } from "./check-history/healthy-data.ts";
import { call, finishRunning, ledger, mutants, nobody, step, submit, trail } from "./check-history/mutants.ts";
import { type CheckOptions, checkHistory, checkNames, createLedger, installAudit, runChecks } from "./check-history.ts";
import { useTestDatabase } from "./test-database.ts";
import type { Violation } from "./violation.ts";

const database = useTestDatabase();
const schema = "mutants";
const { completed, failed, running } = runs;
let client: Client;

beforeAll(async () => {
  client = new Client({ connectionString: database.url });
  await client.connect();
  const query = (text: string, values?: unknown[]) => client.query(text, values);
  await createLooseTables(query, schema);
  await writeHealthyData(query, schema);
});

afterAll(async () => {
  await client.end();
});

beforeEach(async () => {
  await client.query("begin");
});

afterEach(async () => {
  await client.query("rollback");
});

/** Corrupts behind the audit's back; a mutant of the audit trail writes the trail itself. */
async function corrupt(...texts: string[]): Promise<void> {
  await client.query("set local session_replication_role = replica");
  for (const text of texts) await client.query(text);
}

const check = (options: Partial<CheckOptions> = {}): Promise<Violation[]> =>
  runChecks((text, values) => client.query(text, values), {
    mode: "safety",
    schema,
    history: healthyEvents,
    ledger: { table: "ledger" },
    ...options,
  });

describe("healthy data", () => {
  it("has no violation in safety mode", async () => {
    expect(await check()).toEqual([]);
  });

  it("has none in liveness mode, once the last run has ended", async () => {
    await corrupt(...finishRunning);
    expect(await check({ mode: "liveness" })).toEqual([]);
  });

  it("is found unfinished in liveness mode before that", async () => {
    await corrupt(step(running, "c", "lease_expiry = clock_timestamp() - interval '1 second'"));
    expect(await check({ mode: "liveness" })).toEqual([
      { check: "run-unfinished", message: expect.stringMatching(/is still running: b pending, c running, d pending/) },
      { check: "lease-expired", message: expect.stringMatching(/node c is running, its lease expired at/) },
      { check: "step-unactivated", message: expect.stringMatching(/node a is completed, but what follows it/) },
    ]);
  });

  it("allows a discarded node to go back where a retry was asked for", async () => {
    await corrupt(
      trail(failed, "a", "discarded", "available"),
      trail(failed, "a", "available", "running", "1, 2, 0, 0, 0, 0"),
    );
    const retry = { operation: "retry", id: "r", run: failed, pid: 7, at: 0 } as const;
    expect(await check({ history: [...healthyEvents, { type: "invoke", ...retry }] })).toEqual([]);
    expect((await check()).map((violation) => violation.check)).toEqual(["terminal-changed", "moved-after-run-ended"]);
  });
});

describe("mutants", () => {
  it.each(mutants.map((mutant) => ({ ...mutant, name: `${mutant.check}: ${mutant.what}` })))(
    "$name",
    async (mutant) => {
      await corrupt(...(mutant.corrupt ?? []));
      const kept = healthyEvents.filter((event) => mutant.without?.(event) !== true);
      const options = { history: [...kept, ...(mutant.events ?? [])], mode: mutant.mode ?? ("safety" as const) };
      const seen = await check(options);
      expect([...new Set(seen.map((violation) => violation.check))]).toEqual([mutant.check]);
      expect(seen[0]?.message).toMatch(mutant.message);
      expect(await check({ ...options, skip: [mutant.check] })).toEqual([]);
    },
  );

  it("exist for every check", () => {
    const seenInLiveness = ["lease-expired", "step-unactivated"];
    expect([...new Set([...mutants.map((mutant) => mutant.check), ...seenInLiveness])].sort()).toEqual(
      checkNames().sort(),
    );
  });
});

describe("checkHistory", () => {
  it("runs on the migrated schema, by a connection of its own, with and without an audit trail and a ledger", async () => {
    expect(await checkHistory(database.url, { mode: "liveness" })).toEqual([]);
    const query = (text: string) => database.query(text);
    await installAudit(query);
    await createLedger(query, "public.ledger");
    const history = [call(nobody, "a", 1), submit("ok", "k", nobody)];
    const seen = await checkHistory(database.url, {
      mode: "liveness",
      history,
      ledger: { table: "ledger", steps: ["charge"] },
    });
    expect(seen.map((violation) => violation.check)).toEqual(["submit-lost", "called-without-claim"]);
  });

  it("counts the ledger rows of the steps that it is told write one", async () => {
    await corrupt(ledger(completed, "d", 1));
    const seen = await check({ ledger: { table: "ledger", steps: ["step-b", "step-d"] } });
    expect(seen).toEqual([]);
    expect(await check()).toEqual([{ check: "ledger-count", message: expect.stringContaining("node d") }]);
  });

  it("shows twenty of many violations, and says how many there are", async () => {
    await corrupt(`insert into ledger select '${nobody}', 'n' || n, 1 from generate_series(1, 50) n`);
    const seen = await check();
    expect(seen).toHaveLength(21);
    expect(seen.at(-1)).toEqual({ check: "ledger-orphan", message: "… and 30 more" });
  });
});
