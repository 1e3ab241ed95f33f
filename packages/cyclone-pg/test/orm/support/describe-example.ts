import { expect, it } from "vitest";
import type { Client, Run, Step } from "../../../src/index.ts";
import { testWorker } from "../../support/test-client.ts";
import type { TestDatabase } from "../../support/test-database.ts";

interface Order {
  readonly id: string;
  readonly cents: number;
}

/** What the lines to copy in docs/transactions.md must do. */
export function describeExample(
  database: TestDatabase,
  charge: () => Step<Order, void>,
  placeOrder: (client: Client, order: Order) => Promise<Run<void>>,
): void {
  const stored = async (): Promise<string[]> => {
    const { rows } = await database.query<{ text: string }>(
      `select 'order ' || id || ' ' || cents as text from orders
       union all select 'charge ' || order_id || ' ' || cents from charges
       union all select 'run ' || idempotency_key from cyclone_runs where idempotency_key = 'o1' order by text`,
    );
    return rows.map((row) => row.text);
  };

  it("place an order together with the run that charges it, and charge it once", async () => {
    const worker = await testWorker(database, [charge()]);
    const order = { id: "o1", cents: 250 };
    const run = await placeOrder(worker, order);
    await run.result();
    expect(await stored()).toEqual(["charge o1 250", "order o1 250", "run o1"]);
    // A second order of this id is refused, and takes its run with it.
    await expect(placeOrder(worker, order)).rejects.toThrow();
    expect(await stored()).toEqual(["charge o1 250", "order o1 250", "run o1"]);
    await worker.stop();
  });
}
