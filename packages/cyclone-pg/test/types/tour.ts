// A compiled tour of the public face. Each `@ts-expect-error` is a claim: the line below it must not compile.
// `tour.test.ts` checks it with every supported compiler, and what the compilers say about the mistakes.
import pg from "pg";
import { z } from "zod";
import {
  type AbortReason,
  type Action,
  type AttemptInfo,
  type AttemptOutcome,
  type Builder,
  type BulkCounts,
  type BulkFilter,
  type Client,
  type CompletionTx,
  createClient,
  Discard,
  type Duration,
  defineAction,
  defineStep,
  defineWorkflow,
  type ErrorCode,
  type Future,
  from,
  type GraphEdge,
  type HandlerOf,
  type Input,
  type InputOf,
  InvalidPayloadError,
  implement,
  isCycloneError,
  type JsonValue,
  lit,
  type Node,
  type NodeHandle,
  type OutputOf,
  parseDuration,
  type QueueInfo,
  RetryAfter,
  type Run,
  type RunFilter,
  RunNotCompletedError,
  type RunOutcome,
  type RunPage,
  Snooze,
  type Stats,
  type Step,
  type StepContract,
  type StoredError,
  type Workflow,
} from "../../src/index.ts";

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- two types are the same if T can't tell them apart
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** `expectType<T>()(value)` compiles only if the value's type is exactly `T`. */
declare function expectType<T>(): <U>(value: U, ...same: Same<T, U> extends true ? [] : ["types differ"]) => void;

declare const b: Builder;
declare const client: Client;

interface Page {
  url: string;
  title?: string;
  links: Link[];
  size: [width: number, height: number];
}
interface Link {
  href: string;
  text: string | null;
}
interface Receipt {
  id: string;
  bytes: number;
}

// ── The example of the contract ───────────────────────────────────────────────────────────────────────────────────
const fetchPage = defineStep("fetch", async (_ctx, url: string): Promise<Page> => ({ url, links: [], size: [1, 2] }));
const save = defineStep(
  "save",
  { queue: "db", maxAttempts: 5 },
  async (_ctx, page: Page): Promise<Receipt> => ({ id: page.url, bytes: 1 }),
);
const mail = defineAction("mail", async (_ctx, in_: { to: string; receipt: Receipt }) => {
  in_.receipt.bytes.toFixed();
});
const ingest = defineWorkflow("ingest", (b, url: string) => {
  const page = fetchPage.do(b, url);
  const receipt = save.do(b, page);
  mail.do(b, { to: "ops@example.com", receipt }, { after: [page] });
  return receipt;
});
expectType<Step<string, Page>>()(fetchPage);
expectType<Action<{ to: string; receipt: Receipt }>>()(mail);
expectType<Workflow<string, Receipt>>()(ingest);

export async function example(): Promise<Receipt> {
  await using worker = createClient({
    connection: "postgres://localhost/app",
    handlers: [ingest, fetchPage, save, mail],
  });
  await worker.migrate();
  await worker.start();
  const run = await ingest.submit(worker, "https://example.com");
  expectType<Run<Receipt>>()(run);
  return run.result({ signal: AbortSignal.timeout(1000) });
}

// ── Definitions: types from the handler ───────────────────────────────────────────────────────────────────────────
const now = defineStep("now", (ctx) => ctx.runId); // sync, no input
expectType<Step<void, string>>()(now);
expectType<Future<string>>()(now.do(b));
now.do(b, undefined, { timeout: "5m" });
const touch = defineStep("touch", async (_ctx, _id: string) => {}); // no output
expectType<Future<void>>()(touch.do(b, "x"));
const maybe = defineStep("maybe", async (_ctx, id: string): Promise<Page | null> => (id ? null : null));
const opt = defineStep("opt", (_ctx, limit: number | undefined) => limit ?? 10);
opt.do(b, undefined);
opt.do(b, 3);
export const explicit: Step<string, Page> = defineStep<string, Page>("fetch", async (_ctx, url) => ({
  url,
  links: [],
  size: [1, 2],
}));
export const options = defineStep(
  "options",
  { backoff: { base: "1s", max: "5m", jitter: "none" }, maxReclaims: Infinity, timeout: 30_000, priority: -1 },
  (_c, n: number) => n,
);
defineStep(
  "backoff",
  { backoff: (attempt, error) => (error.code === "x" ? attempt * 1000 : "5s") },
  (_c, n: number) => n,
);
// @ts-expect-error an unknown option
defineStep("x", { maxAttemps: 5 }, (_ctx, n: number) => n);
// @ts-expect-error the input isn't optional
fetchPage.do(b);
// @ts-expect-error an action may not return an output
defineAction("a", async (_ctx, n: number) => n);
// @ts-expect-error no such jitter
defineStep("x", { backoff: { base: "1s", jitter: "some" } }, (_ctx, n: number) => n);
// @ts-expect-error an action has no output schema
defineAction("a", { output: z.string() }, async (_ctx, _n: number) => {});

// ── Definitions: types from schemas; what is passed and what the handler gets can differ ─────────────────────────
const order = z.object({
  id: z.string().brand<"OrderId">(),
  at: z.iso.datetime().transform((t) => new Date(t)),
  qty: z.number().default(1),
});
const price = defineStep("price", { input: order, output: z.object({ cents: z.number().int() }) }, async (_ctx, o) => {
  expectType<Date>()(o.at);
  return { cents: o.qty };
});
expectType<{ at: string; id: string; qty?: number | undefined }>()(0 as unknown as InputOf<typeof price>);
price.do(b, { id: "o1", at: "2026-01-01T00:00:00Z" });
const stamp = defineStep("stamp", { output: z.date().transform((d) => d.toISOString()) }, () => new Date());
expectType<Future<string>>()(stamp.do(b)); // the handler returns a Date, an ISO text is stored
// @ts-expect-error the handler's return doesn't fit the output schema
defineStep("x", { output: z.number() }, () => "text");
// @ts-expect-error the handler's parameter doesn't fit the input schema
defineStep("x", { input: z.string() }, (_ctx, n: number) => n);
// @ts-expect-error what the output schema gives back must be JSON
defineStep("x", { output: z.date() }, () => new Date());

// ── Contracts ─────────────────────────────────────────────────────────────────────────────────────────────────────
const resize = defineStep<{ key: string; width: number }, { url: string }>("resize");
expectType<StepContract<{ key: string; width: number }, { url: string }>>()(resize);
const rate = defineStep("rate", { input: order, output: z.object({ score: z.number() }) });
const notify = defineAction<{ to: string }>("notify");
const resizeStep = implement(resize, async (_ctx, input) => ({ url: `${input.key}-${input.width}` }));
export const rateStep = implement(rate, (_ctx, o) => ({ score: o.at.getTime() })); // gets the schema's output
export const notifyAction = implement(notify, async (_ctx, { to }) => void to);
expectType<Step<{ key: string; width: number }, { url: string }>>()(resizeStep);
expectType<Action<{ to: string }>>()(notifyAction);
const apart: HandlerOf<typeof resize> = async (_ctx, { key }) => ({ url: key });
implement(resize, apart);
const asContract: StepContract<{ key: string; width: number }, { url: string }> = resizeStep; // a step fits its contract
resize.do(b, { key: "k", width: opt.do(b, 1) });
createClient({ connection: "", handlers: [resizeStep, rateStep, notifyAction] });
const listed = [ingest, fetchPage, resizeStep, mail];
createClient({
  connection: new pg.Pool(),
  handlers: listed,
  queues: { db: 2, mail: 1 },
  leaseTtl: "1m",
  concurrency: 3,
});
// @ts-expect-error a contract has no handler to register
createClient({ connection: "", handlers: [resize] });
// @ts-expect-error an unknown option of the client
createClient({ connection: "", concurency: 5 });
// @ts-expect-error the queues of a client take numbers
createClient({ connection: "", queues: { db: "2" } });
void asContract.enqueue(client, { key: "k", width: 1 });
// @ts-expect-error NotJson<"input is a Date">
defineStep<Date, string>("x");
// @ts-expect-error a contract isn't a step: it has no handler to register
const registered: Step<{ key: string; width: number }, { url: string }> = resize;
void registered;
// @ts-expect-error the handler doesn't fit its contract
implement(resize, async (_ctx, input) => ({ url: input.width }));

// ── JSON in, JSON out ─────────────────────────────────────────────────────────────────────────────────────────────
interface Tree {
  value: number;
  children: Tree[];
}
type Cents = number & { readonly __brand: "Cents" };
class WithMethods {
  readonly a = 1;
  twice(): number {
    return this.a * 2;
  }
}
defineStep("interface", (_c, t: Tree) => t); // recursive, no index signature
defineStep("brand", (_c, n: Cents) => ({ n }));
defineStep("json", (_c, j: JsonValue) => j);
defineStep("unknown", (_c, u: unknown) => u); // the run-time check decides
// oxlint-disable-next-line typescript/no-explicit-any -- that `any` passes is the point
defineStep("any", (_c, u: any): any => u);
defineStep("record", (_c, r: Record<string, { a?: string }>) => r);
defineStep("tuple", (_c, t: readonly [string, number?]) => t);
type Expr = string | [string, ...Expr[]];
const evaluate = defineStep("expr", (_c, e: Expr) => e); // recursive through a tuple
// @ts-expect-error NotJson<"output.page.at is a Date">
defineStep("x", async () => ({ page: { at: new Date() } }));
// @ts-expect-error NotJson<"input is a Date">
defineStep("x", (_c, at: Date) => at.getTime());
// @ts-expect-error NotJson<"output is a Map">
defineStep("x", () => new Map<string, number>());
// @ts-expect-error NotJson<"output.tags is a Set">
defineStep("x", () => ({ tags: new Set<string>() }));
// @ts-expect-error NotJson<"output.n is a bigint">
defineStep("x", () => ({ n: 1n }));
// @ts-expect-error NotJson<"output.raw is binary data">
defineStep("x", () => ({ raw: new Uint8Array() }));
// @ts-expect-error NotJson<"output.later is a Promise, await it">
defineStep("x", () => ({ later: Promise.resolve(1) }));
// @ts-expect-error NotJson<"output.page is a future">
defineStep("x", () => ({ page: fetchPage.do(b, "u") }));
// @ts-expect-error NotJson<"output has undefined elements">
defineStep("x", (): (string | undefined)[] => []);
// @ts-expect-error NotJson<"output.pair has undefined elements">
defineStep("x", (): { pair: [string, number | undefined] } => ({ pair: ["a", 1] }));
// @ts-expect-error NotJson<"output[].a is a Date">
defineStep("x", (): ({ a: string } | { a: Date })[] => []);
// @ts-expect-error NotJson<"output.twice is a function">
defineStep("x", () => new WithMethods());
// @ts-expect-error NotJson<"output[].f is a function">
defineStep("x", { queue: "q" }, () => [{ f: () => 1 }]);
// @ts-expect-error NotJson<"output.a.b.c.d: something below isn't JSON">
defineStep("x", () => ({ a: { b: { c: { d: { e: new Date() } } } } }));
// @ts-expect-error NotJson<"input.at is a Date">
defineWorkflow("x", (_b, _in: { at: Date }) => {});
// @ts-expect-error NotJson<"input.at is a Date">
defineAction("x", (_c, _in: { at: Date }) => {});
defineStep("unchecked", { payload: "unchecked" }, () => new Date());
function storeStep<T>(name: string): Step<T, T> {
  return defineStep(name, { payload: "unchecked" }, (_c, value: T) => value);
}
expectType<Future<Page>>()(storeStep<Page>("s").do(b, fetchPage.do(b, "u")));

// ── Input<T> ──────────────────────────────────────────────────────────────────────────────────────────────────────
const page = fetchPage.do(b, lit("https://example.com"));
const receipt = save.do(b, from(page));
const num = opt.do(b, 1);
declare function takes<T>(input: Input<T>): void;
takes<string>(page.get("url"));
takes<{ a: { b: [string, number] } }>({ a: { b: [page.get("url"), num] } });
takes<{ a: { b: [string, number] } }>({ a: { b: ["x", 1] } as const }); // read-only data is fine
takes<string[]>([page.get("url"), "b"]);
takes<{ title?: string }>({});
takes<{ title?: string }>({ title: page.get("title") }); // absent stays absent
takes<{ readonly a: string }>({ a: page.get("url") });
takes<Cents>(5 as Cents);
takes<unknown>({ deep: [page] });
// oxlint-disable-next-line typescript/no-explicit-any -- an input of type `any` takes a future
takes<any>(page);
takes<JsonValue>({ deep: [page.get("url"), { more: num }] });
evaluate.do(b, ["+", "1", ["*", page.get("url"), "3"]]);
takes<Tree>({
  value: num,
  children: [
    { value: 1, children: [] },
    { value: num, children: [] },
  ],
});
takes<string | number>(num);
takes<string | null>(page.get("url"));
takes<Page | null>(maybe.do(b, "x"));
takes<never>(null as unknown as Future<never>);
takes<boolean>(null as unknown as Future<true>);
takes<`id-${string}`>("id-1");
function generic<T, O>(s: Step<T, O>, value: Input<T>, future: Future<T>): Future<O>[] {
  return [s.do(b, value), s.do(b, future), ...[value].map((v) => s.do(b, v, { after: [future] }))];
}
generic(fetchPage, "u", page.get("url"));
takes<Record<string, number>>({ a: num, b: 2 });
type Shape = { kind: "circle"; r: number } | { kind: "square"; side: number };
takes<Shape>({ kind: "circle", r: num });
// @ts-expect-error wrong future
takes<string>(num);
// @ts-expect-error a future that may be absent, where the value is needed
takes<{ title: string }>({ title: page.get("title") });
// @ts-expect-error a wrong future, deep inside
takes<{ a: { b: [string, number] } }>({ a: { b: [num, num] } });
// @ts-expect-error an unknown property
takes<{ url: string }>({ url: page.get("url"), ulr: "x" });
// @ts-expect-error a property of the other member of the union
takes<Shape>({ kind: "circle", r: num, side: 1 });
// @ts-expect-error a kind that isn't
takes<Shape>({ kind: "oval", r: num });
// @ts-expect-error explicit undefined isn't "left out"
takes<{ title?: string }>({ title: undefined });
// @ts-expect-error an array is no tuple
takes<[string, number]>([page.get("url")]);
// @ts-expect-error a plain number is no Cents
takes<Cents>(5);
// @ts-expect-error a whole page is no options bag
takes<{ limit?: number }>(page);
// @ts-expect-error an action's node is no data
takes<string>(mail.do(b, { to: "x", receipt }));
// @ts-expect-error a Promise isn't a future
save.do(b, Promise.resolve(null as unknown as Page));
// @ts-expect-error a future has no fields; use get
takes<string>(page.url);
// @ts-expect-error the input of another step
save.do(b, { ...({} as Receipt) });

// ── get ───────────────────────────────────────────────────────────────────────────────────────────────────────────
declare const big: Future<{
  u: Shape;
  rec: Record<string, Link>;
  deep: { a: { b: { c: { d: { e: 1 } } } } };
  n: Page | null;
}>;
expectType<Future<string>>()(page.get("url"));
expectType<Future<string | undefined>>()(page.get("title"));
expectType<Future<string | null | undefined>>()(page.get("links", 0, "text"));
expectType<Future<number>>()(page.get("size", 1));
expectType<Future<"circle" | "square">>()(big.get("u", "kind"));
expectType<Future<number | undefined>>()(big.get("u", "side"));
expectType<Future<string | undefined>>()(big.get("rec", "any", "href"));
expectType<Future<1>>()(big.get("deep", "a", "b", "c").get("d", "e")); // four keys a call
expectType<Future<string | undefined>>()(big.get("n", "url"));
// oxlint-disable-next-line typescript/no-explicit-any -- a part of `any` is `any`
expectType<Future<any>>()((null as unknown as Future<any>).get("x", 3));
// @ts-expect-error no such property
page.get("ulr");
// @ts-expect-error a list takes a number
page.get("links", "href");
// @ts-expect-error past the tuple's end
page.get("size", 2);
// @ts-expect-error a text has no parts
page.get("url", "length");
// @ts-expect-error get needs a key
page.get();

// ── Nodes and order ───────────────────────────────────────────────────────────────────────────────────────────────
const mailed: Node = mail.do(b, { to: "a", receipt });
save.do(b, page, {
  after: [mailed, page],
  name: "save-again",
  queue: "db",
  priority: 10,
  maxAttempts: 1,
  timeout: "1m",
});
// @ts-expect-error an action has no output
mailed.get("x");
// @ts-expect-error not a node
save.do(b, page, { after: ["fetch"] });
// @ts-expect-error a node has no backoff of its own: it stays in the step's code
save.do(b, page, { backoff: "1s" });
export function savePair(b: Builder, left: Future<Page>, right: Input<Page>): Future<Receipt> {
  return save.do(b, right, { after: [left] });
}
savePair(b, page, { url: "u", links: [], size: [1, num] });
const join = defineStep(
  "join",
  (_c, i: { a: Page; b: string; list: Receipt[]; pair: [Page, Receipt] }) => i.list.length,
);
join.do(b, { a: page, b: "literal", list: [receipt, { id: "x", bytes: num }], pair: [page, receipt] });
const narrow: Future<{ id: string }> = receipt; // covariant
// @ts-expect-error and not the other way
const wide: Future<Receipt> = narrow;
void wide;

// ── Workflows ─────────────────────────────────────────────────────────────────────────────────────────────────────
const nightly = defineWorkflow("nightly", (b) => {
  fetchPage.do(b, "x");
});
expectType<Workflow<void, void>>()(nightly);
const branches = defineWorkflow("branches", (b, i: { fast: boolean }) =>
  i.fast ? opt.do(b, 1) : fetchPage.do(b, "u"),
);
expectType<Workflow<{ fast: boolean }, number | Page>>()(branches);
const parsed = defineWorkflow("parsed", { input: order }, (b, o) => price.do(b, { id: o.id, at: o.at.toISOString() }));
expectType<Workflow<{ id: string; at: string; qty?: number | undefined }, { cents: number }>>()(parsed);
const part = defineWorkflow("part", (b, u: string) => fetchPage.do(b, u).get("links", 0)); // a projection as the result
expectType<Workflow<string, Link | undefined>>()(part);
const plan = ingest.plan("u");
expectType<readonly GraphEdge[]>()(plan.edges);
plan.toMermaid().trim();
nightly.plan();
// @ts-expect-error a build is synchronous
// oxlint-disable-next-line typescript/no-misused-promises -- it is the mistake
defineWorkflow("x", async (b, u: string) => fetchPage.do(b, u));
// @ts-expect-error a build returns a future, not an object
defineWorkflow("x", (b, u: string) => ({ page: fetchPage.do(b, u) }));
// @ts-expect-error wrong input
void ingest.submit(client, 3);
// @ts-expect-error wrong input
ingest.plan(3);
// @ts-expect-error not a client
void ingest.submit(b, "u");
// @ts-expect-error not a builder
fetchPage.do(client, "u");

// ── Durations ─────────────────────────────────────────────────────────────────────────────────────────────────────
const ds: Duration[] = [500, "500ms", "1.5h", "7d", parseDuration("30s")];
// @ts-expect-error not a duration
ds.push("30 seconds");
// @ts-expect-error no unit
ds.push("30");

// ── Handlers: the context ─────────────────────────────────────────────────────────────────────────────────────────
const charge = defineAction("charge", { queue: "db", timeout: "30s" }, async (ctx, i: { cents: number }) => {
  const tx = await ctx.completionTx();
  expectType<CompletionTx>()(tx);
  const { rows } = await tx.query<{ id: string }>("insert into ledger values ($1, $2, $3) returning id", [
    ctx.runId,
    ctx.node,
    i.cents,
  ]);
  rows[0]?.id.toUpperCase();
  const asClient: pg.PoolClient = tx; // what Drizzle, Kysely and Knex take
  void asClient;
  ctx.signal.throwIfAborted();
  if ((ctx.signal.reason as AbortReason).code === "CYCLONE_SHUTDOWN") return;
  ctx.log.info("charged", { attempt: ctx.attempt, key: ctx.idempotencyKey, snoozes: ctx.snoozes });
  if (ctx.attempt > 3) throw new Discard("no use");
  if (ctx.reclaims) throw new Snooze("5m");
  throw new RetryAfter("10s", { message: "429" });
});
// @ts-expect-error not a duration
void new Snooze("soon");

// ── Starting, reading ─────────────────────────────────────────────────────────────────────────────────────────────
export async function starting(tx: pg.PoolClient): Promise<void> {
  const run = await ingest.submit(client, "u", { tx, idempotencyKey: "k", startAt: new Date(), tags: ["a"] });
  const job = await charge.enqueue(client, { cents: 5 }, { delay: "1m", queue: "db", priority: 3 });
  const many = await ingest.submitMany(client, ["a", "b"] as const, { tx, idempotencyKey: (url, i) => `${url}-${i}` });
  const none = await nightly.submit(client);
  expectType<Run<void>>()(job);
  expectType<Run<Receipt>[]>()(many);
  expectType<Run<void>>()(none);
  expectType<Run<Page>>()(await fetchPage.enqueue(client, "u"));
  expectType<Run<Page>[]>()(await fetchPage.enqueueMany(client, ["u"], { delay: "1s" }));
  await nightly.submit(client, undefined, { delay: "1h" });
  expectType<Receipt>()(null as unknown as OutputOf<typeof ingest>);
  expectType<boolean>()(run.existing);
  const end: RunOutcome = await run.wait();
  switch (end.state) {
    case "completed":
      expectType<undefined>()(end.error);
      break;
    case "failed":
      end.error.causes?.[0]?.message.trim();
      break;
    case "cancelled":
      expectType<StoredError | undefined>()(end.error);
      break;
  }
  expectType<string | undefined>()(end.error?.message);
  end.finishedAt.getTime();
  try {
    await run.output();
  } catch (e) {
    if (e instanceof RunNotCompletedError) expectType<"CYCLONE_RUN_NOT_COMPLETED">()(e.code);
    if (e instanceof InvalidPayloadError) expectType<string>()(e.path);
    if (isCycloneError(e)) expectType<ErrorCode>()(e.code);
  }
  expectType<Run<Receipt>>()(client.run<typeof ingest>(run.id));
  expectType<Run<Receipt>>()(client.run(run.id, ingest));
  expectType<Run<Page>>()(client.run(run.id, fetchPage));
  expectType<Run<void>>()(client.run(run.id, mail));
  expectType<Run<unknown>>()(client.run(run.id));
  // @ts-expect-error Receipt isn't a definition
  client.run<Receipt>(run.id);
  const off = client.on("step.failed", (e) => {
    e.error.message.trim();
  });
  off();
  // @ts-expect-error no such event
  client.on("step.fialed", () => {});
  await client.stop({ timeout: "10s" });
  const node: NodeHandle = run.node("save");
  expectType<unknown>()(await node.output());
  const [attempt]: AttemptInfo[] = await node.attempts();
  expectType<AttemptOutcome | undefined>()(attempt?.outcome);
  expectType<StoredError | null | undefined>()(attempt?.error);
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: RunPage = await client.runs.list({ state: ["failed"], definition: ingest, limit: 10 });
    expectType<Date | undefined>()(page.runs[0]?.createdAt);
    cursor = page.next;
  }
  const filter: RunFilter = { step: save, queue: "db", tags: ["a"], createdAfter: new Date(), error: "timeout" };
  await client.runs.list(filter);
  // @ts-expect-error no such state
  await client.runs.list({ state: "done" });
  const counts: BulkCounts = await client.runs.cancel(
    { definition: ingest, state: "running" },
    { reason: "not now", dryRun: true },
  );
  expectType<number>()(counts.matched);
  const bulk: BulkFilter = { error: "timeout" };
  const signal = AbortSignal.timeout(60_000);
  await client.runs.retry(bulk, { onProgress: ({ changed }) => expectType<number>()(changed), signal });
  // @ts-expect-error all that fit are meant
  await client.runs.cancel({ state: "running", limit: 10 });
  // @ts-expect-error a retry has no reason
  await client.runs.retry(bulk, { reason: "again" });
  await client.queues.pause("db", { timeout: "10s" });
  await client.queues.resume("db");
  expectType<QueueInfo[]>()(await client.queues.list());
  const stats: Stats = await client.stats();
  expectType<number | undefined>()(stats.byQueue["db"]?.running);
  expectType<number>()(stats.recentRuns.failed);
  // @ts-expect-error not a duration
  await client.queues.pause("db", { timeout: "soon" });
  expectType<"data" | "order" | undefined>()((await run.graph()).edges[0]?.kind);
  // @ts-expect-error an unknown option
  await ingest.submit(client, "u", { idempotencykey: "k" });
  // @ts-expect-error the key of many starts is made from each input
  await ingest.submitMany(client, ["u"], { idempotencyKey: "k" });
}
