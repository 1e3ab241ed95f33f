import { createClient } from "cyclone-pg";
import { orderHandlers } from "./order-handlers.ts";
import { orderWorkflow } from "./order-workflow.ts";

/**
 * A worker process: `node worker.js DATABASE-URL SERVICES-URL [STEP]`. With a step's name it stands still at the worst moment, for
 * the demonstration to kill it: when that step's handler has done all its work, and nothing of it is committed.
 */
const [databaseUrl, servicesUrl, stopIn] = process.argv.slice(2);
if (databaseUrl === undefined || servicesUrl === undefined)
  throw new Error("usage: worker.js DATABASE-URL SERVICES-URL [STEP]");

async function standStill(step: string): Promise<void> {
  if (step !== stopIn) return;
  process.send?.(`standing in ${step}`);
  await new Promise(() => {}); // until it is killed
}

const client = createClient({
  connection: databaseUrl,
  handlers: [orderWorkflow, ...orderHandlers(servicesUrl, standStill)],
  leaseTtl: "2s", // crash-detection time: short, so that the demonstration is
});
process.once("SIGTERM", () => void client.stop().then(() => process.exit(0)));
await client.start();
process.send?.("started");
