import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { schemaVersion } from "../../src/migrations/catalogue.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const step = defineStep("step", async () => 1);

/** Clients on a schema of the database that a test may spoil. */
const on = (schema: string, handlers = [step]) => testClient(database, { schema, handlers });

beforeAll(async () => {
  await database.query("create schema empty");
});
afterAll(async () => {
  await database.query("drop schema if exists empty cascade");
});

describe("start()", () => {
  it("never migrates: without tables it says what to call", async () => {
    for (const schema of ["nowhere", "empty"]) {
      const missing = {
        code: "CYCLONE_SCHEMA_VERSION",
        reason: "missing",
        schema,
        found: null,
        expected: schemaVersion,
      };
      const client = on(schema);
      await expect(client.start()).rejects.toMatchObject({ ...missing, message: expect.stringContaining("migrate()") });
      await expect(step.enqueue(client)).rejects.toMatchObject(missing);
      await expect(client.run("01890000-0000-7000-8000-000000000000").state()).rejects.toMatchObject(missing);
      await expect(client.run("01890000-0000-7000-8000-000000000000").wait()).rejects.toMatchObject(missing);
      await expect(client.drain()).rejects.toMatchObject(missing);
    }
    const { rows } = await database.query("select 1 from pg_class where relnamespace = 'empty'::regnamespace");
    expect(rows).toEqual([]);
    expect((await database.query("select 1 from pg_namespace where nspname = 'nowhere'")).rows).toEqual([]);
  });

  it("of a client that was too early works once somebody has migrated", async () => {
    const client = on("early");
    await expect(client.start()).rejects.toMatchObject({ code: "CYCLONE_SCHEMA_VERSION" });
    await on("early").migrate();
    await client.start();
    expect(await (await step.enqueue(client)).result()).toBe(1);
  });

  it("refuses tables that are older than the code", async () => {
    await on("older").migrate();
    await database.query("update older.cyclone_migrations set version = 0 where version = $1", [schemaVersion]);
    const older = { code: "CYCLONE_SCHEMA_VERSION", reason: "older", found: 0, expected: schemaVersion };
    const client = on("older");
    await expect(client.start()).rejects.toMatchObject({ ...older, message: expect.stringContaining("migrate()") });
    await expect(step.enqueue(client)).rejects.toMatchObject(older);
  });

  it("works on tables that are one version newer: workers of the version before keep running", async () => {
    await on("newer").migrate();
    await database.query("insert into newer.cyclone_migrations (version, name) values ($1, 'of tomorrow')", [
      schemaVersion + 1,
    ]);
    const client = on("newer");
    await client.start();
    expect(await (await step.enqueue(client)).result()).toBe(1);
  });
});

describe("migrate()", () => {
  it("refuses tables that are newer than the code, and changes nothing", async () => {
    await on("future").migrate();
    await database.query("insert into future.cyclone_migrations (version, name) values ($1, 'of the future')", [
      schemaVersion + 5,
    ]);
    await expect(on("future").migrate()).rejects.toMatchObject({
      code: "CYCLONE_SCHEMA_VERSION",
      reason: "newer",
      found: schemaVersion + 5,
    });
  });

  it("again changes nothing", async () => {
    const catalog = async () => {
      const { rows } = await database.query(
        "select relname, relkind, relfilenode from pg_class where relnamespace = 'again'::regnamespace order by 1",
      );
      return rows;
    };
    await on("again").migrate();
    const before = await catalog();
    expect(before.length).toBeGreaterThan(9);
    await on("again").migrate();
    expect(await catalog()).toEqual(before);
  });

  it("fixes the number of buckets at the first time", async () => {
    await on("buckets").migrate({ bucketCount: 3 });
    await on("buckets").migrate();
    await on("buckets").migrate({ bucketCount: 3 });
    await expect(on("buckets").migrate({ bucketCount: 4 })).rejects.toMatchObject({ code: "CYCLONE_INVALID_OPTION" });
    const client = on("buckets");
    await client.start();
    const jobs = await step.enqueueMany(
      client,
      Array.from({ length: 60 }, () => undefined),
    );
    expect(await Promise.all(jobs.map((job) => job.result()))).toEqual(jobs.map(() => 1));
    const { rows } = await database.query("select distinct bucket from buckets.cyclone_runs order by 1");
    expect(rows).toEqual([{ bucket: 0 }, { bucket: 1 }, { bucket: 2 }]);
    for (const bucketCount of [0, 1.5, 16_385]) {
      await expect(on("buckets-no").migrate({ bucketCount })).rejects.toMatchObject({ code: "CYCLONE_INVALID_OPTION" });
    }
  });

  it("installs no sequence, trigger or function, and nothing outside of its schema", async () => {
    const client = new pg.Client({ connectionString: database.url });
    await client.connect();
    try {
      const objects = `select 'relation' as what, relname as name from pg_class where relnamespace = $1::regnamespace and relkind in ('S', 'v', 'm')
        union all select 'function', proname from pg_proc where pronamespace = $1::regnamespace
        union all select 'trigger', tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid where c.relnamespace = $1::regnamespace and not tgisinternal`;
      const others = async () => (await client.query("select count(*) from pg_class")).rows;
      const all = await others();
      await on("only-here").migrate();
      const { rows: inside } = await client.query(
        "select count(*) from pg_class where relnamespace = '\"only-here\"'::regnamespace",
      );
      const { rows: toast } = await client.query(
        "select count(*) from pg_class where relnamespace = 'pg_toast'::regnamespace and relname ~ any (select oid::text from pg_class where relnamespace = '\"only-here\"'::regnamespace)",
      );
      expect(Number((await others())[0].count) - Number(all[0].count)).toBe(
        Number(inside[0].count) + Number(toast[0].count),
      );
      expect((await client.query(objects, ['"only-here"'])).rows).toEqual([]);
    } finally {
      await client.end();
    }
  });
});
