import pg from "pg";
import { expect, it } from "vitest";
import { migrate } from "../../src/migrations/migrate.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

it("R39: who waits for another migration for too long is told so, and what to look at", async () => {
  const first = new pg.Client({ connectionString: database.url });
  const second = new pg.Client({ connectionString: database.url });
  await Promise.all([first.connect(), second.connect()]);
  await first.query("begin");
  // The same lock as migrate() takes, by the same code: an uncommitted migration of the same schema.
  const hanging = new Promise<void>((reached) => {
    const session = {
      query: async (text: string, values?: unknown[]) => {
        if (text === "commit") {
          reached();
          await new Promise(() => {});
        }
        return text.startsWith("begin") ? { rows: [] } : first.query(text, values);
      },
    };
    void migrate(session, { schema: "waited_for" });
  });
  await hanging;
  // A minute is the limit; this one is less patient.
  const impatient = {
    query: (text: string, values?: unknown[]) =>
      second.query(text.replace(/lock_timeout = \d+/, "lock_timeout = 200"), values),
  };
  await expect(migrate(impatient, { schema: "waited_for" })).rejects.toMatchObject({
    code: "CYCLONE_CONNECTION",
    message: expect.stringMatching(/waited_for.*pg_stat_activity/),
  });
  await first.query("rollback");
  expect(await migrate(second, { schema: "waited_for" })).not.toEqual([]);
  await Promise.all([first.end(), second.end()]);
});
