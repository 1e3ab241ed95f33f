import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import { describe, expect, it } from "vitest";
import { type Client, Discard, defineStep, Snooze } from "../../src/index.ts";
import { figuresOf } from "../../src/otel.ts";
import { latch } from "../support/latch.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const good = defineStep("good", async (_ctx, n: number) => n);
const fickle = defineStep('odd "name"\n', { backoff: 1 }, async (ctx) => {
  if (ctx.snoozes === 0) throw new Snooze(1);
  if (ctx.attempt === 1) throw new Error("odd");
  throw new Discard("enough");
});
const unserved = defineStep("unserved", { queue: "far" }, async () => {});

/** Samples by series, and what was said of each metric. */
async function scraped(figures: ReturnType<typeof figuresOf>) {
  const lines = (await figures.prometheus()).trimEnd().split("\n");
  const samples = lines
    .filter((line) => !line.startsWith("#"))
    .map((line) => {
      const at = line.lastIndexOf(" ");
      return [line.slice(0, at), Number(line.slice(at + 1))] as const;
    });
  return { samples: Object.fromEntries(samples), comments: lines.filter((line) => line.startsWith("#")) };
}

/** One completed job, one that failed, snoozed and was discarded; two that wait, for a worker and for a time. */
async function something(client: Client): Promise<void> {
  await good.enqueue(client, 1);
  await fickle.enqueue(client);
  await unserved.enqueueMany(client, [undefined, undefined]);
  await database.kit.drain(client, { scheduled: true });
  await good.enqueue(client, 2, { delay: "1h" });
}

async function empty(): Promise<void> {
  await database.query("truncate cyclone_runs, cyclone_steps, cyclone_deps, cyclone_attempts");
}

describe("the figures of a client", () => {
  it("are what its process did and what the queues hold, as Prometheus reads it", async () => {
    await empty();
    const client = testClient(database, { handlers: [good, fickle] });
    const figures = figuresOf(client);
    await something(client);
    const { samples, comments } = await scraped(figures);
    const odd = 'odd \\"name\\"\\n';
    expect(samples).toMatchObject({
      'cyclone_runs_submitted_total{name="good"}': 2,
      'cyclone_runs_submitted_total{name="unserved"}': 2,
      'cyclone_runs_ended_total{name="good",state="completed"}': 1,
      [`cyclone_runs_ended_total{name="${odd}",state="failed"}`]: 1,
      'cyclone_attempts_total{step="good",outcome="completed"}': 1,
      [`cyclone_attempts_total{step="${odd}",outcome="snoozed"}`]: 1,
      [`cyclone_attempts_total{step="${odd}",outcome="failed"}`]: 1,
      [`cyclone_attempts_total{step="${odd}",outcome="discarded"}`]: 1,
      'cyclone_claim_latency_seconds_count{step="good"}': 1,
      'cyclone_claim_latency_seconds_bucket{step="good",le="+Inf"}': 1,
      'cyclone_claim_latency_seconds_bucket{step="good",le="3600"}': 1,
      'cyclone_attempt_duration_seconds_count{step="good"}': 1,
      'cyclone_queue_depth{queue="far",step="unserved",state="available"}': 2,
      'cyclone_queue_depth{queue="default",step="good",state="scheduled"}': 1,
      'cyclone_queue_depth{queue="default",step="good",state="running"}': 0,
      'cyclone_queue_age_seconds{queue="default",step="good"}': 0,
    });
    expect(samples['cyclone_queue_age_seconds{queue="far",step="unserved"}']).toBeGreaterThan(0);
    expect(samples['cyclone_claim_latency_seconds_sum{step="good"}']).toBeGreaterThan(0);
    expect(comments).toContain("# TYPE cyclone_attempts_total counter");
    expect(comments).toContain("# TYPE cyclone_queue_depth gauge");
    expect(comments).toContain("# TYPE cyclone_claim_latency_seconds histogram");
  });

  it("reach an OpenTelemetry meter, the same numbers", async () => {
    await empty();
    const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
    const provider = new MeterProvider({ readers: [reader] });
    const client = testClient(database, { handlers: [good, fickle] });
    const figures = figuresOf(client);
    figures.report(provider.getMeter("test"));
    await something(client);
    await provider.forceFlush();
    figures.close();
    await provider.shutdown();
    const [first] = exporter.getMetrics();
    const seen = Object.fromEntries(
      (first?.scopeMetrics ?? []).flatMap(({ metrics }) =>
        metrics.map((metric) => [
          metric.descriptor.name,
          metric.dataPoints.map(({ attributes, value }) => ({ ...attributes, value })),
        ]),
      ),
    );
    expect(seen["cyclone.attempts"]).toContainEqual({ step: "good", outcome: "completed", value: 1 });
    expect(seen["cyclone.runs.ended"]).toContainEqual({ name: "good", state: "completed", value: 1 });
    expect(seen["cyclone.queue.depth"]).toContainEqual({
      queue: "far",
      step: "unserved",
      state: "available",
      value: 2,
    });
    expect(seen["cyclone.queue.age"]).toContainEqual({ queue: "far", step: "unserved", value: expect.any(Number) });
    expect(seen["cyclone.claim.latency"]).toContainEqual({
      step: "good",
      value: expect.objectContaining({ count: 1 }),
    });
    expect(seen["cyclone.attempt.duration"]).toEqual([{ step: "good", value: expect.objectContaining({ count: 1 }) }]);
  });

  it("count reclaims and lost leases", async () => {
    await empty();
    const gate = latch();
    const held = defineStep("held", async () => gate.opened);
    const worker = await testWorker(database, [held], { leaseTtl: "2s" });
    const figures = figuresOf(worker);
    const job = await held.enqueue(worker);
    await database.kit.waitForNode(job, "held", "running");
    // Somebody else took the step over: a lease with another epoch, which runs out unrenewed.
    await database.query(
      "update cyclone_steps set lease_epoch = lease_epoch + 1, lease_expiry = statement_timestamp() - interval '1 hour'",
    );
    await expect
      .poll(async () => (await scraped(figures)).samples, { timeout: 30_000 })
      .toMatchObject({
        'cyclone_lease_losses_total{step="held"}': 1,
        'cyclone_reclaims_total{step="held"}': 1,
      });
    gate.open();
    await job.result();
  });

  it("are still told, without the queues, while the database can't be asked, and no more once they are closed", async () => {
    await empty();
    const client = testClient(database, { handlers: [good] });
    const figures = figuresOf(client);
    await good.enqueue(client, 1);
    await client.drain();
    figures.close();
    await good.enqueue(client, 2);
    await client.stop();
    const { samples } = await scraped(figures);
    expect(samples).toMatchObject({ 'cyclone_runs_submitted_total{name="good"}': 1 });
    expect(Object.keys(samples).filter((series) => series.startsWith("cyclone_queue"))).toEqual([]);
  });
});
