import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Client, ConnectionError, defineStep } from "../../src/index.ts";
import { freePort } from "../support/free-port.ts";
import { useOwnServer } from "../support/own-server.ts";
import { testClient } from "../support/test-client.ts";

// Passwords are asked for of one role only; all others are trusted.
const folder = mkdtempSync(join(tmpdir(), "cyclone-hba-"));
chmodSync(folder, 0o755);
const hba = join(folder, "pg_hba.conf");
writeFileSync(hba, "host all guarded all scram-sha-256\nhost all all all trust\n", { mode: 0o644 });
const server = useOwnServer({ hba_file: hba });
const step = defineStep("step", async () => 1);
const RUN = "01890000-0000-7000-8000-000000000000";

beforeAll(async () => {
  await server.query("create role guarded login password 'right'");
  await server.query("create role crowded login connection limit 0");
  await server.query("create role shut_out login");
  await server.query("create database locked");
  await server.query("revoke connect on database locked from public");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The server's URL with a few parts of it replaced. */
function urlWith(parts: Partial<Pick<URL, "username" | "password" | "port" | "pathname">>): string {
  return Object.assign(new URL(server.url), parts).href;
}

/** All that asks the database for something and doesn't wait for it to come back. */
const calls = (client: Client): Record<string, () => Promise<unknown>> => ({
  migrate: () => client.migrate(),
  enqueue: () => step.enqueue(client),
  enqueueMany: () => step.enqueueMany(client, [undefined, undefined]),
  state: () => client.run(RUN).state(),
  cancel: () => client.run(RUN).cancel(),
  retry: () => client.run(RUN).retry(),
  list: () => client.runs.list(),
  stats: () => client.stats(),
  pause: () => client.queues.pause("default"),
});

async function failuresOf(client: Client, more: Record<string, () => Promise<unknown>> = {}) {
  const failures = Object.entries({ ...calls(client), ...more }).map(async ([name, call]) => {
    const error: unknown = await call().then(
      () => undefined,
      (failure: unknown) => failure,
    );
    expect(error, name).toBeInstanceOf(ConnectionError);
    return error as ConnectionError;
  });
  return Promise.all(failures);
}

describe("a call without a usable connection", () => {
  it("says so where nobody listens, whatever is called", async () => {
    const port = String(await freePort());
    const client = testClient({ url: urlWith({ port, password: "hush" }) });
    for (const error of await failuresOf(client)) {
      expect(error.message).toMatch(new RegExp(`^Postgres at 127\\.0\\.0\\.1:${port} can't be reached: .*Check`));
      expect(error.message).not.toContain("hush");
      expect(error).toMatchObject({ code: "CYCLONE_CONNECTION", cause: { code: "ECONNREFUSED" } });
    }
  });

  it("says so with a Pool of the user's, too", async () => {
    const port = await freePort();
    const pool = new pg.Pool({ host: "127.0.0.1", port, max: 2 });
    const client = testClient(server, { connection: pool });
    for (const error of await failuresOf(client)) expect(error.message).toContain(`127.0.0.1:${port} can't be reached`);
    await pool.end();
  });

  it("says so of a database that doesn't exist; start() doesn't wait for it either", async () => {
    const client = testClient({ url: urlWith({ pathname: "/nowhere" }) }, { handlers: [step] });
    const waiting = { start: () => client.start(), wait: () => client.run(RUN).wait() };
    for (const error of await failuresOf(client, waiting)) {
      expect(error.message).toMatch(/^Postgres at .*:\d+ has no such database: .*"nowhere".*Create it/);
      expect(error).toMatchObject({ cause: { code: "3D000" } });
    }
  });

  it("says so of a wrong password, and doesn't repeat it", async () => {
    const client = testClient({ url: urlWith({ username: "guarded", password: "hush" }) }, { handlers: [step] });
    for (const error of await failuresOf(client, { start: () => client.start() })) {
      expect(error.message).toMatch(/refused the login: .*"guarded".*Check the user and the password/);
      expect(error.message).not.toContain("hush");
      expect(error).toMatchObject({ cause: { code: "28P01" } });
    }
    const none = testClient({ url: urlWith({ username: "guarded" }) });
    await expect(none.stats()).rejects.toThrow(/refused the login: SASL/);
  });

  it("says so of a role that may have no further connection, or isn't let into the database", async () => {
    const crowded = testClient({ url: urlWith({ username: "crowded" }) });
    await expect(crowded.stats()).rejects.toMatchObject({
      code: "CYCLONE_CONNECTION",
      message: expect.stringMatching(/takes no further connection.*max_connections/),
      cause: { code: "53300" },
    });
    const shutOut = testClient({ url: urlWith({ username: "shut_out", pathname: "/locked" }) });
    await expect(shutOut.migrate()).rejects.toMatchObject({
      code: "CYCLONE_CONNECTION",
      message: expect.stringMatching(/doesn't let this role into the database.*CONNECT/),
    });
  });

  it("leaves the errors of the caller's own transaction as they are", async () => {
    const client = testClient(server);
    const tx = new pg.Client({ connectionString: server.url });
    tx.on("error", () => {});
    await tx.connect();
    await tx.query("begin");
    await step.enqueue(client, undefined, { tx });
    const { rows } = await tx.query("select pg_backend_pid() as pid");
    await server.query("select pg_terminate_backend($1, 10000)", [rows[0].pid]);
    const error: unknown = await step.enqueue(client, undefined, { tx }).catch((failure: unknown) => failure);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(ConnectionError);
    await tx.end();
  });
});

describe("a role that may not migrate", () => {
  const migrate = (schema: string) => testClient({ url: urlWith({ username: "shut_out" }) }, { schema }).migrate();

  it("is told that it needs CREATE on the database, for a schema that isn't there", async () => {
    await expect(migrate("fresh")).rejects.toMatchObject({
      code: "CYCLONE_CONNECTION",
      message: expect.stringContaining("`grant create on database postgres to shut_out`"),
      cause: { code: "42501" },
    });
  });

  it("is told that it needs CREATE on the schema, for tables that aren't there", async () => {
    await server.query('create schema "Not Yours"');
    await expect(migrate("Not Yours")).rejects.toMatchObject({
      message: expect.stringContaining('`grant usage, create on schema "Not Yours" to shut_out`'),
      cause: { code: "42501" },
    });
  });

  it("is told to leave it to the tables' owner, where it may create", async () => {
    await testClient(server, { schema: "owned" }).migrate();
    await server.query("grant usage, create on schema owned to shut_out");
    await expect(migrate("owned")).rejects.toThrow(/the role that owns Cyclone's tables/);
  });
});
