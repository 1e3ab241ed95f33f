import { createClient, defineStep, defineWorkflow } from "cyclone-pg";

const { DATABASE_URL = "", SCHEMA = "", LEASE_MS = "" } = process.env;
const never = new Int32Array(new SharedArrayBuffer(4));

const double = defineStep("double", async (_ctx, n) => n * 2);
/** Lets the whole server's event loop not run for as long as it is told. */
const compute = defineStep("compute", async (_ctx, { n, blockMs }) => {
  console.log("blocking");
  Atomics.wait(never, 0, 0, blockMs);
  return n + 1;
});

export const order = defineWorkflow("order", (b, { n, blockMs }) => compute.do(b, { n: double.do(b, n), blockMs }));

/** One client per process, whichever of the server's bundles asks first. */
export function client() {
  globalThis.cycloneClient ??= createClient({
    connection: DATABASE_URL,
    schema: SCHEMA,
    handlers: [double, compute],
    leaseTtl: Number(LEASE_MS),
    pollInterval: "100ms",
  });
  return globalThis.cycloneClient;
}
