import { beforeAll, beforeEach } from "vitest";
import type { TestDatabase } from "../../support/test-database.ts";

/** The user's tables of these tests, empty before each. */
export function useOrders(database: TestDatabase): { readonly ids: () => Promise<string[]> } {
  beforeAll(async () => {
    await database.query(
      `create table orders (id text primary key, cents int not null);
       create table charges (order_id text primary key, cents int not null)`,
    );
  });
  beforeEach(async () => {
    await database.query("truncate orders, charges");
  });
  return {
    ids: async () => {
      const { rows } = await database.query<{ id: string }>("select id from orders order by id");
      return rows.map((row) => row.id);
    },
  };
}
