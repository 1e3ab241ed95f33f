import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import type { RunStatement } from "../engine/record/record-batch.ts";
import { ConnectionError } from "../errors/connection-error.ts";
import type { EndedRunRow } from "../sql/read/find-ended-runs.ts";
import { Waiter } from "./waiter.ts";

test("results that together are more than a statement may take are asked for in smaller batches", async () => {
  const asked: number[] = [];
  const run = (async (_statement: unknown, { ids }: { ids: readonly string[] }) => {
    asked.push(ids.length);
    if (ids.length > 20) throw new ConnectionError("The database didn't answer within 15000 ms.");
    return ids.map((id) => ({ id, state: "completed" }));
  }) as unknown as RunStatement;
  const waiter = new Waiter({ run, bucketCount: async () => 1, pollMs: 5, onWaiting: () => undefined });
  const ids = Array.from({ length: 300 }, () => randomUUID());
  const rows: EndedRunRow[] = await Promise.all(ids.map((id) => waiter.wait(id, true, undefined)));
  expect(rows.map((row) => row.id)).toEqual(ids);
  expect(asked.slice(0, 3)).toEqual([300, 75, 18]);
  waiter.close(new Error("over"));
});
