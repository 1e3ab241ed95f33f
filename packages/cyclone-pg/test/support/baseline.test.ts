import { Client, type QueryResult } from "pg";
import { afterEach, expect, it } from "vitest";
import { baselineViolations, takeBaseline } from "./baseline.ts";
import { useTestDatabase } from "./test-database.ts";

const database = useTestDatabase();
const clients: Client[] = [];
const query = (text: string): Promise<QueryResult> => database.query(text);

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
});

async function connect(name: string): Promise<Client> {
  const client = new Client({ connectionString: database.url, application_name: name });
  await client.connect();
  clients.push(client);
  return client;
}

it("is met again when everything was closed", async () => {
  const baseline = await takeBaseline(query);
  const client = await connect("closed");
  await client.query("begin");
  await client.query("lock table cyclone_runs in share mode");
  await client.end();
  clients.length = 0;
  expect(await baselineViolations(query, baseline)).toEqual([]);
});

it("finds a session that was left behind", async () => {
  const baseline = await takeBaseline(query);
  const { processID: pid } = (await connect("forgotten")) as unknown as { processID: number };
  expect(await baselineViolations(query, baseline, 100)).toEqual([
    { check: "baseline-sessions", message: `left behind: session of "forgotten" (idle, pid ${pid})` },
  ]);
});

it("finds locks that a session of the baseline still holds", async () => {
  const client = await connect("known");
  const baseline = await takeBaseline(query);
  await client.query("begin");
  await client.query("lock table cyclone_runs in share mode");
  const seen = await baselineViolations(query, baseline, 100);
  expect(seen).toEqual([
    {
      check: "baseline-locks",
      message: expect.stringMatching(/^left behind: ShareLock held on cyclone_runs by pid \d+$/),
    },
  ]);
  await client.query("rollback");
  expect(await baselineViolations(query, baseline)).toEqual([]);
});
