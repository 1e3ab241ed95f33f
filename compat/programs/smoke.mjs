import { createClient, defineAction, defineStep, defineWorkflow } from "cyclone-pg";

// A whole application, the same file for every runtime and bundler: migrates a schema of its own, works, submits, reads, stops, and
// must then end by itself. Arguments: the database's URL, the schema, the lease's length and for how long a handler blocks, in ms.
// It says `on <runtime> <version>`, `job <json>`, `workflow <json>`, `blocking`, `blocked <json>`, `stopped`, and in trouble
// `lost <step>` or `warned <message>`.
const [, , url = "", schema = "", leaseMs = "", blockMs = ""] = process.argv;
const never = new Int32Array(new SharedArrayBuffer(4));

/** Lets the event loop not run for so long. */
function block(ms) {
  const end = performance.now() + ms;
  while (performance.now() < end) Atomics.wait(never, 0, 0, 20);
}

async function write(ctx, amount) {
  const tx = await ctx.completionTx();
  await tx.query(`insert into ${schema}.ledger (run_id, amount) values ($1, $2)`, [ctx.runId, amount]);
}

const double = defineStep("double", async (_ctx, n) => n * 2);
const record = defineStep("record", async (ctx, amount) => {
  await write(ctx, amount);
  return { amount, attempt: ctx.attempt };
});
const tell = defineAction("tell", (ctx, receipt) => ctx.log.info(`recorded ${receipt.amount}`));
const order = defineWorkflow("order", (b, n) => {
  const receipt = record.do(b, double.do(b, n));
  tell.do(b, receipt);
  return receipt;
});
const compute = defineStep("compute", async (ctx, n) => {
  console.log("blocking");
  block(Number(blockMs));
  await write(ctx, n);
  return n + 1;
});

function runtime() {
  const { bun, deno, node } = process.versions;
  if (bun !== undefined) return `bun ${bun}`;
  return deno === undefined ? `node ${node}` : `deno ${deno}`;
}

async function main() {
  console.log(`on ${runtime()}`);
  const client = createClient({
    connection: url,
    schema,
    handlers: [double, record, tell, compute],
    leaseTtl: Number(leaseMs),
    pollInterval: "100ms",
    log: { debug() {}, info() {}, warn: (message) => console.log(`warned ${message}`), error: console.error },
  });
  client.on("lease.lost", ({ step }) => console.log(`lost ${step}`));
  await client.migrate();
  await client.start();
  const job = await record.enqueue(client, 1);
  console.log(`job ${JSON.stringify(await job.result())}`);
  const run = await order.submit(client, 20);
  console.log(`workflow ${JSON.stringify(await run.result())}`);
  await run.wait();
  const blocked = await compute.enqueue(client, 41);
  console.log(`blocked ${JSON.stringify(await blocked.result())}`);
  await client.stop();
  console.log("stopped");
}

void main();
