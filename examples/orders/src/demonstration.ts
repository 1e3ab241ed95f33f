import { createClient } from "cyclone-pg";
import { Ledger } from "./ledger.ts";
import type { Order, Shipment } from "./order-contracts.ts";
import { orderWorkflow } from "./order-workflow.ts";
import { type OutsideServices, startOutsideServices } from "./outside-services.ts";
import { WorkerProcess } from "./worker-process.ts";

/** What is left of one order that two workers died over. */
export interface Outcome {
  readonly shipment: Shipment;
  readonly ledgerRows: number;
  readonly shipRequests: number;
  readonly shipments: number;
  readonly mails: number;
  readonly nodes: readonly {
    readonly name: string;
    readonly state: string;
    readonly attempt: number;
    readonly reclaims: number;
  }[];
}

const ORDER: Order = { id: "order-1", cents: 4_990, address: "1 Harbour Street", email: "customer@example.com" };

/** Submits an order, kills a worker in the middle of `charge`, another in the middle of `ship`, and lets a third one finish. */
export async function demonstrate(databaseUrl: string, say: (line: string) => void): Promise<Outcome> {
  await using ledger = await Ledger.open(databaseUrl);
  await using services = await startOutsideServices();
  // A client without handlers is a producer: it submits and reads, and never works.
  await using shop = createClient({ connection: databaseUrl });
  await shop.migrate();

  const run = await orderWorkflow.submit(shop, ORDER, { idempotencyKey: ORDER.id });
  say(`» Submitted ${ORDER.id} as run ${run.id}: charge → ship → mail`);

  await killIn("charge", databaseUrl, services, say, async () => {
    say("  its ledger row is written and not committed:");
    say(`  rows that others see: ${await ledger.countCharges(ORDER.id)}`);
  });
  await killIn("ship", databaseUrl, services, say, async () => {
    say("  it called charge again, and that is committed:");
    say(`  rows that others see: ${await ledger.countCharges(ORDER.id)}`);
    say("  the shipper has answered, and the answer isn't recorded");
  });
  await using worker = new WorkerProcess(databaseUrl, services.url);
  say(`» A third worker (process ${worker.pid}), which nobody kills …`);
  const shipment = await run.result();
  return {
    shipment,
    ledgerRows: await ledger.countCharges(ORDER.id),
    shipRequests: services.requests.get("/shipments") ?? 0,
    shipments: services.done("/shipments"),
    mails: services.done("/mails"),
    nodes: await run.nodes(),
  };
}

/** Starts a worker that stands still in a step, looks around, and kills it. */
async function killIn(
  step: string,
  databaseUrl: string,
  services: OutsideServices,
  say: (line: string) => void,
  lookAround: () => Promise<void>,
): Promise<void> {
  await using worker = new WorkerProcess(databaseUrl, services.url, step);
  say(`» A worker (process ${worker.pid}) works until the middle of ${step} …`);
  await worker.untilStanding();
  await lookAround();
  await worker.kill();
  say("  kill -9");
}
