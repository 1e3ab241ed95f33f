import { fileURLToPath } from "node:url";
import pg from "pg";
import { describe, expect, inject, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { asAdmin } from "../support/as-admin.ts";
import { useFixture } from "../support/fixture.ts";
import { spawnFixture } from "../support/process.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const program = useFixture(fileURLToPath(new URL("./fixtures/migrate.ts", import.meta.url)));
const double = defineStep("double", async (_ctx, n: number) => n * 2);

/** Submits and works in a schema, to see that it is whole. */
async function expectWhole(schema: string, connection = database.url): Promise<void> {
  const client = testClient(database, { connection, schema, handlers: [double] });
  await client.start();
  expect(await (await double.enqueue(client, 4)).result()).toBe(8);
  await client.stop();
}

describe("several who migrate at once", () => {
  it("all succeed, and one of them does it: clients of one process", async () => {
    const clients = Array.from({ length: 10 }, () => testClient(database, { schema: "racers" }));
    await Promise.all(clients.map((client) => client.migrate()));
    const { rows } = await database.query(
      "select version, count(*)::int as count from racers.cyclone_migrations group by version",
    );
    expect(rows.every((row) => row["count"] === 1)).toBe(true);
    await expectWhole("racers");
  });

  it("all succeed, and one of them does it: processes", async () => {
    const programs = [1, 2, 3].map(() => spawnFixture(program.path, [database.url, "race of processes"]));
    for (const one of programs) expect(await one.ended, one.errorOutput).toEqual({ status: 0, signal: null });
    await expectWhole("race of processes");
  });
});

describe("a process that is killed in the middle of a migration", () => {
  it("leaves nothing, and the next one does it all", async () => {
    const victim = spawnFixture(program.path, [database.url, "killed", "hang"]);
    await victim.waitForLine(/^in the middle$/);
    await victim.kill("SIGKILL");
    expect((await database.query("select 1 from pg_namespace where nspname = 'killed'")).rows).toEqual([]);
    await testClient(database, { schema: "killed" }).migrate();
    await expectWhole("killed");
  });

  it("holds up others that migrate only until it is gone", async () => {
    const victim = spawnFixture(program.path, [database.url, "waited for", "hang"]);
    await victim.waitForLine(/^in the middle$/);
    let migrated = false;
    const other = testClient(database, { schema: "waited for" })
      .migrate()
      .then(() => {
        migrated = true;
      });
    const { rows } = await database.query("select count(*)::int as waiting from pg_locks where locktype = 'advisory'");
    expect(rows[0]?.["waiting"]).toBeGreaterThan(0);
    expect(migrated).toBe(false);
    await victim.kill("SIGKILL");
    await other;
    await expectWhole("waited for");
  });
});

describe("a schema's name", () => {
  it("may be whatever Postgres takes in quotes, and nothing of it is ever read as SQL", async () => {
    const names = [
      'Mixed Case "quoted"',
      "x'; drop table cyclone_runs; --",
      "with\nnewline\tand tab",
      "$1 %s \\ {}",
      "élève 名前 😀",
      "select",
      "a".repeat(63),
      "é".repeat(31),
    ];
    for (const schema of names) {
      await testClient(database, { schema }).migrate();
      await expectWhole(schema);
      const { rows } = await database.query("select 1 from pg_namespace where nspname = $1", [schema]);
      expect(rows, schema).toHaveLength(1);
    }
    expect((await database.query("select count(*) from public.cyclone_runs")).rows).toHaveLength(1);
  });

  it("that Postgres keeps for itself, cuts or can't have is refused before any SQL", () => {
    for (const schema of ["", "pg_mine", "information_schema", "a\0b", "\ud800", "a".repeat(64), "é".repeat(32)]) {
      expect(() => testClient(database, { schema }), JSON.stringify(schema)).toThrowError(
        expect.objectContaining({ code: "CYCLONE_INVALID_OPTION" }),
      );
    }
  });
});

describe("two schemas in one database", () => {
  it("don't see each other: same names, same keys, other runs", async () => {
    const calls: string[] = [];
    const step = (where: string) => defineStep("same", async () => void calls.push(where));
    const clients = await Promise.all(
      ["left", "right"].map(async (schema) => {
        const handler = step(schema);
        const client = testClient(database, { schema, handlers: [handler] });
        await client.migrate();
        return { client, handler };
      }),
    );
    const [left, right] = clients as [(typeof clients)[0], (typeof clients)[0]];
    const key = { idempotencyKey: "same" };
    const [a, b] = [
      await left.handler.enqueue(left.client, undefined, key),
      await right.handler.enqueue(right.client, undefined, key),
    ];
    expect(a.id).not.toBe(b.id);
    expect([a.existing, b.existing]).toEqual([false, false]);
    await expect(right.client.run(a.id).state()).rejects.toMatchObject({ code: "CYCLONE_RUN_NOT_FOUND" });
    await left.client.drain();
    expect(calls).toEqual(["left"]);
    await right.client.drain();
    expect(calls).toEqual(["left", "right"]);
  });
});

describe("roles with few rights", () => {
  const asRole = (role: string): string => {
    const url = new URL(database.url);
    url.username = role;
    return url.href;
  };

  it("USAGE on the schema and DML on its tables are enough for workers and producers, which run no DDL", async () => {
    const { adminUrl } = inject("postgres");
    const role = `cyclone_dml_${process.pid}`;
    await testClient(database, { schema: "for roles" }).migrate();
    await asAdmin(adminUrl, (admin) => admin.query(`create role ${role} login`));
    try {
      await database.query(`grant usage on schema "for roles" to ${role}`);
      await database.query(`grant select, insert, update, delete on all tables in schema "for roles" to ${role}`);
      await database.query("revoke all on schema public from public");
      await expectWhole("for roles", asRole(role));
      const refused = testClient(database, { connection: asRole(role), schema: "of others" }).migrate();
      await expect(refused).rejects.toMatchObject({ code: "CYCLONE_CONNECTION", cause: { code: "42501" } });
    } finally {
      await database.query(`drop owned by ${role}`);
      await asAdmin(adminUrl, (admin) => admin.query(`drop role ${role}`));
    }
  });

  it("the owner of a schema can migrate it without CREATE on the database", async () => {
    const { adminUrl } = inject("postgres");
    const role = `cyclone_owner_${process.pid}`;
    await asAdmin(adminUrl, (admin) => admin.query(`create role ${role} login`));
    try {
      await database.query(`create schema "of a role" authorization ${role}`);
      const session = new pg.Client({ connectionString: asRole(role) });
      await session.connect();
      await expect(session.query("create schema another")).rejects.toMatchObject({ code: "42501" });
      await session.end();
      await testClient(database, { connection: asRole(role), schema: "of a role" }).migrate();
      await expectWhole("of a role", asRole(role));
    } finally {
      await database.query(`drop owned by ${role} cascade`);
      await asAdmin(adminUrl, (admin) => admin.query(`drop role ${role}`));
    }
  });
});
