import { Client } from "pg";
import { afterAll, beforeAll } from "vitest";
import { useTestDatabase } from "../support/test-database.ts";
import { StatisticsMoments } from "./statistics-moments.ts";

/** A test file's own database with the statistics of several moments, for measuring statements on one connection. */
export interface PlannedDatabase {
  readonly client: Client;
  readonly moments: StatisticsMoments;
}

/** @param load fills the tables, once their statistics are taken */
export function usePlannedDatabase(
  load: (client: Client) => Promise<unknown> = async () => undefined,
): PlannedDatabase {
  const database = useTestDatabase();
  let client: Client;
  let moments: StatisticsMoments;
  beforeAll(async () => {
    client = new Client({ connectionString: database.url });
    await client.connect();
    moments = await StatisticsMoments.take(client);
    await load(client);
  }, 180_000);
  afterAll(async () => {
    await client.end();
  });
  return {
    get client() {
      return client;
    },
    get moments() {
      return moments;
    },
  };
}
