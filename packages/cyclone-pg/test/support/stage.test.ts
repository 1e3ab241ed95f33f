import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStage, type Stage } from "./stage.ts";
import { useTestDatabase } from "./test-database.ts";

const database = useTestDatabase();
let stage: Stage<"first" | "second">;

beforeEach(async () => {
  await database.query("drop table if exists nodes");
  await database.query("create table nodes (key int primary key, state text not null, pending int not null default 0)");
  await database.query("insert into nodes values (0, 'running', 0), (1, 'running', 0), (2, 'pending', 2)");
  stage = await openStage(database.url, ["first", "second"]);
});

afterEach(async () => {
  await stage.close();
});

const join = async (): Promise<unknown> =>
  (await database.query("select state, pending from nodes where key = 2")).rows[0];

describe("a staged race", () => {
  it("waits until the second session waits for the first one's lock, then goes on", async () => {
    const { first, second } = stage.sessions;
    const countDown =
      "update nodes set pending = pending - 1, state = case when pending = 1 then 'available' else state end where key = 2";
    await first.query("begin");
    await first.query(countDown);
    const waiting = second.start(countDown);
    expect(await stage.waitForLock(second, { heldBy: first })).toBe(second.pid);
    expect(waiting.settled).toBe(false);
    await first.query("commit");
    await waiting.result;
    // The decrement is read again under the lock: neither is lost.
    expect(await join()).toEqual({ state: "available", pending: 0 });
  });

  it("shows why a fan-in must not count unfinished upstreams", async () => {
    const { first, second } = stage.sessions;
    const activate =
      "update nodes set state = 'available' where key = 2 and not exists (select from nodes where key < 2 and state <> 'completed')";
    for (const [session, key] of [
      [first, 0],
      [second, 1],
    ] as const) {
      await session.query("begin");
      await session.query("update nodes set state = 'completed' where key = $1", [key]);
    }
    await first.query(activate);
    await second.query(activate);
    await first.query("commit");
    await second.query("commit");
    expect(await join()).toEqual({ state: "pending", pending: 2 });
  });

  it("finds whoever runs a named statement of the engine", async () => {
    const { first, second } = stage.sessions;
    await first.query("begin");
    await first.query("select from nodes where key = 0 for update");
    const waiting = second.start(
      "/* cyclone:complete_steps */ update nodes set state = 'completed' where key = $1",
      [0],
    );
    expect(await stage.waitForLock({ statement: "complete_steps" })).toBe(second.pid);
    await first.query("rollback");
    await waiting.result;
  });

  it("says what the session does when it doesn't wait", async () => {
    const { first, second } = stage.sessions;
    await first.query("begin");
    await first.query("select from nodes where key = 0 for update");
    await second.query("begin");
    const { rows } = await second.query("select key from nodes where key < 2 for update skip locked");
    expect(rows).toEqual([{ key: 1 }]);
    await expect(stage.waitForLock(second, { limitMs: 50 })).rejects.toThrow(
      /no lock was waited for within 50 ms: pid \d+ is idle in transaction.*skip locked/,
    );
    await expect(stage.waitForLock({ statement: "claim_steps" }, { limitMs: 50 })).rejects.toThrow("no such session");
  });

  it("gives a failure to whoever asks for the result, later", async () => {
    const failing = stage.sessions.first.start("select 1 / 0");
    await expect.poll(() => failing.settled).toBe(true);
    await expect(failing.result).rejects.toMatchObject({ code: "22012" });
  });

  it("closes while a session still waits", async () => {
    const { first, second } = stage.sessions;
    await first.query("begin");
    await first.query("lock table nodes in access exclusive mode");
    const waiting = second.start("select * from nodes");
    await stage.waitForLock(second);
    await stage.close();
    await waiting.result.catch(() => {});
    expect(waiting.settled).toBe(true);
  });

  it("can end in a deadlock, by sessions that are marked for the server's log", async () => {
    await using crossed = await openStage(database.url, ["a", "b"], { deadlock: true });
    const { a, b } = crossed.sessions;
    const { rows } = await a.query("select current_setting('application_name') as name");
    expect(rows).toEqual([{ name: "staged-deadlock-a" }]);
    const lock = (key: number): string => `select from nodes where key = ${key} for update`;
    await a.query("begin");
    await b.query("begin");
    await a.query(lock(0));
    await b.query(lock(1));
    const waitingA = a.start(lock(1));
    await crossed.waitForLock(a, { heldBy: b });
    const waitingB = b.start(lock(0));
    const outcomes = await Promise.allSettled([waitingA.result, waitingB.result]);
    expect(
      outcomes
        .filter((outcome) => outcome.status === "rejected")
        .map(({ reason }) => (reason as { code?: string }).code),
    ).toEqual(["40P01"]);
  });
});
