// A program as strict users write it, and libraries: what it exports is inferred, so that the compiler must be able to name it in
// declarations. All entry points; `consumers.test.ts` compiles it against the packed package.
import {
  type Client,
  type ClientOptions,
  type Context,
  type CycloneError,
  createClient,
  Discard,
  defineAction,
  defineStep,
  defineWorkflow,
  from,
  implement,
  isCycloneError,
  lit,
  RetryAfter,
  RunNotCompletedError,
  Snooze,
} from "cyclone-pg";
import { drizzleTx, knexTx, kyselyTx, postgresJsTx, prismaTx, typeormTx } from "cyclone-pg/orm";
import { figuresOf, type MeterLike, type TracingApi, tracing } from "cyclone-pg/otel";
import { createTestDatabase, createTestTemplate, dropTestTemplate } from "cyclone-pg/testing";
import type { Pool } from "pg";

interface Page {
  url: string;
  title?: string;
  links: string[];
}

export const fetchPage = defineStep(
  "fetch",
  { queue: "web", timeout: "30s" },
  async (ctx, url: string): Promise<Page> => {
    if (ctx.attempt > 2) throw new RetryAfter("5m");
    if (ctx.snoozes === 0) throw new Snooze("1s");
    if (url === "") throw new Discard("no address");
    ctx.signal.throwIfAborted();
    return { url, links: [] };
  },
);

export const save = defineStep("save", { backoff: { base: "1s", max: "10m" } }, async (ctx, page: Page) => {
  const tx = await ctx.completionTx();
  const { rows } = await tx.query("insert into pages (url) values ($1) returning id", [page.url]);
  return { id: String(rows[0]?.id), links: page.links };
});

export const mail = defineAction<{ to: string; page: string; links?: string[] }>("mail", { maxAttempts: 3 });
export const mailHere = implement(mail, (ctx, { to, page }) => ctx.log.info(`${page} to ${to}`));

export const ingest = defineWorkflow("ingest", { failFast: true }, (b, url: string) => {
  const page = fetchPage.do(b, url);
  const saved = save.do(b, page, { name: "saved" });
  const to = lit("ops@example.com");
  mail.do(b, { to, page: saved.get("id"), links: from(saved.get("links")) }, { after: [page] });
  return saved;
});

export const options = {
  connection: "postgres://localhost/db",
  queues: { web: 5, default: 10 },
  handlers: [fetchPage, save, mailHere],
  around: async (ctx, next) => {
    ctx.log.debug(`attempt ${ctx.attempt}`);
    await next();
  },
} satisfies ClientOptions;

export const client = createClient(options);

export function observe(api: TracingApi, meter: MeterLike) {
  const traces = tracing(api);
  const figures = figuresOf(traces.follow(createClient({ ...options, around: traces.around })));
  figures.report(meter);
  return { figures, page: () => figures.prometheus() };
}

export async function submitAll(given: Client, pool: Pool) {
  const db = await pool.connect();
  const run = await ingest.submit(given, "https://example.com", {
    tx: db,
    idempotencyKey: "k",
    delay: "5m",
    tags: ["a"],
  });
  const runs = await ingest.submitMany(given, ["a", "b"], { idempotencyKey: (url, index) => `${url}${index}` });
  const job = await save.enqueue(given, { url: "u", links: [] });
  const stop = given.on("step.failed", ({ error }) => console.error(error.message));
  stop();
  const { links }: { links: string[] } = await job.result({ signal: AbortSignal.timeout(1_000) });
  const states = (await run.nodes()).map(({ state }) => state);
  return { run, runs, links, states, page: await given.runs.list({ definition: ingest, state: ["failed"] }) };
}

export function codeOf(error: unknown): CycloneError["code"] | undefined {
  if (error instanceof RunNotCompletedError) return error.code;
  return isCycloneError(error) ? error.code : undefined;
}

export const adapters = { drizzleTx, knexTx, kyselyTx, postgresJsTx, prismaTx, typeormTx };
export const idempotent = (ctx: Context): string => ctx.idempotencyKey;

export async function testIt(server: string) {
  const template = await createTestTemplate({ server });
  await using database = await createTestDatabase(template);
  const run = await ingest.submit(client, "https://example.com");
  await database.drain(client, { scheduled: true });
  await database.waitForNode(run, "saved", ["completed", "discarded"]);
  const started = await database.enqueued(ingest);
  await dropTestTemplate(template);
  return { started, first: await database.assertEnqueued(mail, { input: { to: "ops@example.com" } }) };
}
