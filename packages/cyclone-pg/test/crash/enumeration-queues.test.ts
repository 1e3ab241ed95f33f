import { describe, expect, it } from "vitest";
import { type Client, createClient } from "../../src/index.ts";
import { enumerateCrashPoints } from "../support/enumerate-crash-points.ts";
import { recordingLog } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";
import { coveragePlan } from "./coverage-plan.ts";
import { CrashRecord } from "./crash-record.ts";

const record = new CrashRecord();
const database = useTestDatabase();

const moves = [
  { transition: "pause a queue", move: (client: Client) => client.queues.pause("mail"), from: false, to: true },
  { transition: "resume a queue", move: (client: Client) => client.queues.resume("mail"), from: true, to: false },
] as const;

describe("a queue whose pausing is cut at any point is paused in all buckets, or in none", { timeout: 600_000 }, () => {
  for (const { transition, move, from, to } of moves) {
    it(transition, async () => {
      let acknowledged = false;
      const report = await enumerateCrashPoints({
        transition,
        target: database.url,
        coverage: record.coverage,
        only: record.counting(/^/),
        operation: async (url) => {
          acknowledged = false;
          await database.query("insert into cyclone_queues (bucket, name) values (0, 'mail') on conflict do nothing");
          await database.query("update cyclone_queues set paused = $1", [from]);
          const client = createClient({ connection: url, log: recordingLog().log });
          try {
            await move(client);
            acknowledged = true;
          } finally {
            await client.stop();
          }
        },
        check: async () => {
          const found = await pausedIn();
          const halves = new Set(found).size > 1 ? [`buckets differ: ${found.join()}`] : [];
          const lost = acknowledged && found.some((paused) => paused !== to) ? ["acknowledged, and not there"] : [];
          // Doing it again mends whatever was left.
          const client = createClient({ connection: database.url, log: recordingLog().log });
          await move(client);
          await client.stop();
          const again = (await pausedIn()).some((paused) => paused !== to) ? ["not there when done again"] : [];
          return [...halves, ...lost, ...again];
        },
      });
      expect(report.violations).toEqual([]);
    });
  }
});

it("leaves nothing of its share uncut or unseen", () => {
  expect(record.gaps(coveragePlan.queues)).toEqual([]);
});

async function pausedIn(): Promise<boolean[]> {
  const { rows } = await database.query<{ paused: boolean }>(
    "select coalesce(q.paused, false) as paused from generate_series(0, (select value::int - 1 from cyclone_settings where name = 'bucket_count')) b(bucket) left join cyclone_queues q on q.bucket = b.bucket and q.name = 'mail'",
  );
  return rows.map((row) => row.paused);
}
