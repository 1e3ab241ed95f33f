import { describe, expect, it } from "vitest";
import { claimSteps } from "../../src/sql/claim/claim-steps.ts";
import { completeSteps } from "../../src/sql/complete/complete-steps.ts";
import { releaseSteps } from "../../src/sql/fail/release-steps.ts";
import { NOTHING_ISOLATED } from "../../src/sql/isolation.ts";
import { renewLeases } from "../../src/sql/lease/renew-leases.ts";
import type { Statement } from "../../src/sql/statement.ts";
import { endRuns } from "../../src/sql/steer/end-runs.ts";
import { retryRun } from "../../src/sql/steer/retry-run.ts";
import { reclaimSteps } from "../../src/sql/sweep/reclaim-steps.ts";
import { tablesOf } from "../../src/sql/tables.ts";
import { openStage, type StageSession } from "../support/stage.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { claimOf } from "./plan-cases/claim-cases.ts";
import { leasesOf } from "./plan-cases/leases.ts";
import { type Group, loadVolume, NO_SHAPES, NO_VOLUME, OWNER, runIdOf, type Shapes } from "./volume.ts";

// Two sessions, whose order is decided statement by statement: the first has run and not committed when the second comes.

const database = useTestDatabase();
const tables = tablesOf("public");

/** What the second session would do; `first` and `second` name the two of a stage. */
type Sent<Row> = { readonly text: string; readonly values: unknown[]; readonly row?: Row };

const sent = <Params, Row>(statement: Statement<Params, Row>, params: Params): Sent<Row> => ({
  text: statement.text(tables),
  values: statement.params(params),
});

const complete = (group: Group, keys: readonly number[]) => {
  const leases = leasesOf(group, 1, keys);
  return sent(completeSteps, { ...leases, outputs: keys.map((key) => String(key)), committed: keys.map(() => false) });
};

const claim = (limit: number) => sent(claimSteps, claimOf(limit));

const reclaim = sent(reclaimSteps, { bucket: 0, limit: 100, guardMs: 0, isolation: NOTHING_ISOLATED });

async function load(shapes: Partial<Shapes>, available = 0): Promise<void> {
  await database.query("truncate cyclone_runs, cyclone_steps, cyclone_deps, cyclone_attempts");
  await loadVolume((text) => database.query(text), { ...NO_VOLUME, available }, { ...NO_SHAPES, ...shapes });
}

const run = async <Row>(session: StageSession, { text, values }: Sent<Row>): Promise<Row[]> =>
  (await session.query(text, values)).rows as Row[];

async function stepOf(group: Group, key: number) {
  const { rows } = await database.query<{ state: string; pending: number; reclaims: number; lease_epoch: number }>(
    "select state::text, pending, reclaims, lease_epoch from cyclone_steps where run_id = $1 and key = $2",
    [runIdOf(group, 1), key],
  );
  return rows[0];
}

describe("two completions of one fan-in", () => {
  it("count down one after the other: the second waits, reads the row again, and activates the join", async () => {
    await load({ joins: { runs: 1, width: 2 } });
    await using stage = await openStage(database.url, ["first", "second"]);
    const { first, second } = stage.sessions;
    await first.query("begin");
    expect(await run(first, complete("joins", [1]))).toMatchObject([{ done: [1], activated: 0 }]);
    const waiting = second.start(complete("joins", [2]).text, complete("joins", [2]).values);
    await stage.waitForLock(second, { heldBy: first });
    await first.query("commit");
    expect((await waiting.result).rows).toMatchObject([{ done: [1], activated: 1 }]);
    expect(await stepOf("joins", 3)).toMatchObject({ state: "available", pending: 0 });
    const { rows } = await database.query("select remaining, state::text from cyclone_runs where id = $1", [
      runIdOf("joins", 1),
    ]);
    expect(rows).toEqual([{ remaining: 1, state: "running" }]);
  });

  it("leave the join to the one that commits, if the other rolls back", async () => {
    await load({ joins: { runs: 1, width: 2 } });
    await using stage = await openStage(database.url, ["first", "second"]);
    const { first, second } = stage.sessions;
    await first.query("begin");
    await run(first, complete("joins", [1]));
    const waiting = second.start(complete("joins", [2]).text, complete("joins", [2]).values);
    await stage.waitForLock(second, { heldBy: first });
    await first.query("rollback");
    expect((await waiting.result).rows).toMatchObject([{ done: [1], activated: 0 }]);
    expect(await stepOf("joins", 3)).toMatchObject({ state: "pending", pending: 1 });
  });
});

describe("two claims", () => {
  it("never wait for each other, and never take the same step", async () => {
    await load({}, 30);
    await using stage = await openStage(database.url, ["first", "second"]);
    const { first, second } = stage.sessions;
    await first.query("begin");
    const one = await run(first, claim(20));
    const two = await run(second, claim(20));
    await first.query("commit");
    expect([one.length, two.length]).toEqual([20, 10]);
    expect(new Set([...one, ...two].map((row) => row.run_id)).size).toBe(30);
  });
});

describe("a completion and a reclaim of the same step", () => {
  it("the reclaim passes over a step that is being completed", async () => {
    await load({ expired: 1 });
    await using stage = await openStage(database.url, ["first", "second"]);
    const { first, second } = stage.sessions;
    await first.query("begin");
    expect(await run(first, complete("expired", [0]))).toMatchObject([{ done: [1] }]);
    expect(await run(second, reclaim)).toEqual([]);
    await first.query("commit");
    expect(await run(second, reclaim)).toEqual([]);
    expect(await stepOf("expired", 0)).toMatchObject({ state: "completed", reclaims: 0 });
  });

  it("the completion that waited for the reclaim finds its lease gone, and moves nothing", async () => {
    await load({ expired: 1 });
    await using stage = await openStage(database.url, ["first", "second"]);
    const { first, second } = stage.sessions;
    await first.query("begin");
    expect(await run(first, reclaim)).toHaveLength(1);
    const { text, values } = complete("expired", [0]);
    const waiting = second.start(text, values);
    await stage.waitForLock(second, { heldBy: first });
    await first.query("commit");
    expect((await waiting.result).rows).toMatchObject([{ done: null, activated: 0 }]);
    expect(await stepOf("expired", 0)).toMatchObject({ state: "available", reclaims: 1 });
    const { rows } = await database.query("select remaining from cyclone_runs where id = $1", [runIdOf("expired", 1)]);
    expect(rows).toEqual([{ remaining: 1 }]);
  });

  it("the completion of an older epoch moves nothing after a reclaim and a new claim", async () => {
    await load({ expired: 1 });
    await using stage = await openStage(database.url, ["first"]);
    const { first } = stage.sessions;
    await run(first, reclaim);
    expect(await run(first, claim(1))).toMatchObject([{ epoch: 2 }]);
    expect(await run(first, complete("expired", [0]))).toMatchObject([{ done: null }]);
    expect(await stepOf("expired", 0)).toMatchObject({ state: "running", lease_epoch: 2 });
  });
});

describe("a renewal", () => {
  const renew = sent(renewLeases, { ...leasesOf("running", 2), leaseMs: 30_000 });

  it("passes over a step that is being completed, and counts its lease as held", async () => {
    await load({ running: 2 });
    await using stage = await openStage(database.url, ["first", "second"]);
    const { first, second } = stage.sessions;
    await first.query("begin");
    await run(first, complete("running", [0]));
    expect(await run(second, renew)).toEqual([{ lost: null }]);
    await first.query("commit");
    expect(await run(second, renew)).toEqual([{ lost: [1] }]);
  });

  it("lets a completion wait that comes after it, which then succeeds", async () => {
    await load({ running: 2 });
    await using stage = await openStage(database.url, ["first", "second"]);
    const { first, second } = stage.sessions;
    await first.query("begin");
    await run(first, renew);
    const { text, values } = complete("running", [0]);
    const waiting = second.start(text, values);
    await stage.waitForLock(second, { heldBy: first });
    await first.query("commit");
    expect((await waiting.result).rows).toMatchObject([{ done: [1] }]);
  });
});

describe("two outcomes of one lease", () => {
  it("only the first is recorded", async () => {
    await load({ running: 1 });
    const lease = leasesOf("running", 1);
    const release = sent(releaseSteps, {
      ...lease,
      outcomes: ["failed"],
      delaysMs: [1_000],
      errors: ["{}"],
      owner: OWNER,
    });
    await using stage = await openStage(database.url, ["first", "second"]);
    const { first, second } = stage.sessions;
    await first.query("begin");
    expect(await run(first, release)).toEqual([{ done: [1] }]);
    const { text, values } = complete("running", [0]);
    const waiting = second.start(text, values);
    await stage.waitForLock(second, { heldBy: first });
    await first.query("commit");
    expect((await waiting.result).rows).toMatchObject([{ done: null }]);
    expect(await stepOf("running", 0)).toMatchObject({ state: "scheduled" });
  });
});

describe("completions of overlapping downstream nodes", () => {
  it("lock in the order of keys, so that batches of crossing edges wait and don't deadlock", async () => {
    await load({ layers: { runs: 1, width: 4 } });
    await using stage = await openStage(database.url, ["first", "second"]);
    const { first, second } = stage.sessions;
    await first.query("begin");
    await run(first, complete("layers", [3]));
    const { text, values } = complete("layers", [0, 1, 2]);
    const waiting = second.start(text, values);
    await stage.waitForLock(second, { heldBy: first });
    await first.query("commit");
    expect((await waiting.result).rows).toMatchObject([{ done: [1, 2, 3], activated: 4 }]);
  });
});

describe("a cancel that is overtaken by another one and a retry of the same run", () => {
  const runId = runIdOf("joins", 1);
  const cancel = sent(endRuns, { bucket: 0, runIds: [runId], state: "cancelled", reason: null, error: null });
  const retry = sent(retryRun, { bucket: 0, runId });

  /** A run with one branch that was discarded, and one that runs. */
  async function loadHalfFailed(): Promise<void> {
    await load({ joins: { runs: 1, width: 2 } });
    await database.query(`
      update cyclone_steps set state = case key when 1 then 'discarded' else 'cancelled' end::cyclone_step_state, finished_at = statement_timestamp(),
        lease_owner = null, lease_expiry = null
      where key in (1, 3)`);
    await database.query("update cyclone_runs set remaining = 1, failed = 1");
  }

  it("changes nothing, since it doesn't see all that is live again; the next one cancels all of it", async () => {
    await loadHalfFailed();
    await using stage = await openStage(database.url, ["first", "second"]);
    const { first, second } = stage.sessions;
    await first.query("begin");
    expect(await run(first, cancel)).toMatchObject([{ cancelled: 1, ended_ids: [runId] }]);
    const overtaken = second.start(cancel.text, cancel.values);
    await stage.waitForLock(second, { heldBy: first });
    expect(await run(first, retry)).toMatchObject([{ available: 2 }]);
    await first.query("commit");
    expect((await overtaken.result).rows).toMatchObject([{ cancelled: 0, ended_ids: null }]);
    expect(await run(first, cancel)).toMatchObject([{ cancelled: 3, ended_ids: [runId] }]);
    const { rows } = await database.query(
      "select r.remaining, r.retries, r.state::text, count(*)::int as nodes from cyclone_runs r join cyclone_steps s on s.run_id = r.id and s.state = 'cancelled' group by 1, 2, 3",
    );
    expect(rows).toEqual([{ remaining: 0, retries: 1, state: "cancelled", nodes: 3 }]);
  });
});

describe("a cancel and a completion of a batch of which one member is committed already", () => {
  const runId = runIdOf("joins", 1);

  /** Node 0 was completed by a completionTx that isn't counted yet; node 1 waits for it, node 2 runs. */
  async function loadCommitted(): Promise<void> {
    await load({});
    await database.query(
      "insert into cyclone_runs (bucket, id, kind, name, remaining) values (0, $1, 'workflow', 'w', 3)",
      [runId],
    );
    await database.query(
      `insert into cyclone_steps (bucket, run_id, key, node, step, kind, state, pending, downs, unactivated, lease_epoch, lease_owner, lease_expiry, finished_at)
       values (0, $1, 0, 'a', 's', 'step', 'completed', 0, '{1}', true, 1, null, null, statement_timestamp()),
         (0, $1, 1, 'b', 's', 'step', 'pending', 1, null, null, 0, null, null, null),
         (0, $1, 2, 'c', 's', 'step', 'running', 0, null, null, 1, $1, statement_timestamp() + interval '1 hour', null)`,
      [runId],
    );
  }

  it("wait for each other in one order: the cancel begins with the node whose completion goes on to another", async () => {
    await loadCommitted();
    await using stage = await openStage(database.url, ["holder", "completion", "cancel"]);
    const { holder, completion, cancel } = stage.sessions;
    await holder.query("begin");
    await holder.query("select from cyclone_steps where run_id = $1 and key = 2 for no key update", [runId]);
    const leases = { bucket: 0, runIds: [runId, runId], keys: [0, 2], items: [0, 0], epochs: [1, 1] };
    const completing = sent(completeSteps, { ...leases, outputs: [null, "1"], committed: [true, false] });
    const ending = sent(endRuns, { bucket: 0, runIds: [runId], state: "cancelled", reason: null, error: null });
    const first = completion.start(completing.text, completing.values);
    await stage.waitForLock(completion, { heldBy: holder });
    const second = cancel.start(ending.text, ending.values);
    await stage.waitForLock(cancel, { heldBy: completion });
    await holder.query("commit");
    expect((await first.result).rows).toMatchObject([{ activated: 1 }]);
    expect((await second.result).rows).toMatchObject([{ cancelled: 1, ended_ids: [runId] }]);
  });
});
