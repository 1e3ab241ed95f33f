import type { Client } from "../client/client.ts";
import type { Attributes, InstrumentOptions, MeterLike } from "./api-shapes.ts";
import { Counter, Gauge, Histogram, type Metric } from "./metrics.ts";
import { prometheusText } from "./prometheus-text.ts";
import { queueFigures } from "./queue-figures.ts";

/** Seconds, from a claim that is at once to a handler that takes an hour. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600];

/** The figures of one client: what its process did, counted from its events, and what the queues hold, asked of the database. */
export interface Figures {
  /** Prometheus' text format, version 0.0.4. Without the queues while the database can't be asked. */
  prometheus(): Promise<string>;
  /** Reports to an OpenTelemetry Meter as well, from now on. */
  report(meter: MeterLike): void;
  /** Counts no more, and reports no more. */
  close(): void;
}

/** Counts what a client tells from now on. */
export function figuresOf(client: Client): Figures {
  const metrics = newMetrics();
  const offs = count(client, metrics);
  const all: readonly Metric[] = Object.values(metrics);
  const counters = all.filter((metric) => metric.kind === "counter");
  const gauges = [metrics.depth, metrics.age];
  const withdrawals: (() => void)[] = [];
  return {
    prometheus: async () => {
      const asked = await askQueues(client, metrics);
      return prometheusText(asked ? all : all.filter((metric) => metric.kind !== "gauge"));
    },
    report: (meter) => {
      for (const metric of [metrics.claimLatency, metrics.duration]) {
        const instrument = meter.createHistogram(metric.about.name, {
          ...optionsOf(metric),
          advice: { explicitBucketBoundaries: BOUNDS },
        });
        let reporting = true;
        metric.onRecord((value, labels) => reporting && instrument.record(value, labels));
        withdrawals.push(() => {
          reporting = false;
        });
      }
      withdrawals.push(observe(meter, counters, gauges, () => askQueues(client, metrics)));
    },
    close: () => {
      for (const off of [...offs, ...withdrawals]) off();
    },
  };
}

function newMetrics() {
  const counter = (name: string, description: string) => new Counter({ name, description });
  return {
    submitted: counter("cyclone.runs.submitted", "Runs that this process has started."),
    ended: counter("cyclone.runs.ended", "Runs that have ended by what this process recorded."),
    attempts: counter("cyclone.attempts", "Calls of handlers whose outcome is recorded."),
    reclaims: counter("cyclone.reclaims", "Steps whose lease had run out and that this process gave back."),
    leaseLosses: counter("cyclone.lease.losses", "Calls that no longer owned their step."),
    claimLatency: new Histogram(
      { name: "cyclone.claim.latency", description: "How long a step was available before its claim.", unit: "s" },
      BOUNDS,
    ),
    duration: new Histogram(
      {
        name: "cyclone.attempt.duration",
        description: "From the claim of a step to its recorded completion.",
        unit: "s",
      },
      BOUNDS,
    ),
    depth: new Gauge({ name: "cyclone.queue.depth", description: "Steps in a queue, over all processes." }),
    age: new Gauge({
      name: "cyclone.queue.age",
      description: "For how long the one has been available that has been so longest.",
      unit: "s",
    }),
  };
}
type Metrics = ReturnType<typeof newMetrics>;

function count(client: Client, metrics: Metrics): (() => void)[] {
  const attempt = (outcome: string) => (event: { readonly step: string }) =>
    metrics.attempts.add({ step: event.step, outcome });
  const completed = attempt("completed");
  return [
    client.on("run.submitted", ({ name }) => metrics.submitted.add({ name })),
    client.on("run.completed", ({ name }) => metrics.ended.add({ name, state: "completed" })),
    client.on("run.failed", ({ name }) => metrics.ended.add({ name, state: "failed" })),
    client.on("run.cancelled", ({ name }) => metrics.ended.add({ name, state: "cancelled" })),
    client.on("step.claimed", ({ step, waitedMs }) => metrics.claimLatency.record(waitedMs / 1000, { step })),
    client.on("step.completed", (event) => {
      completed(event);
      metrics.duration.record(event.durationMs / 1000, { step: event.step });
    }),
    client.on("step.failed", attempt("failed")),
    client.on("step.discarded", attempt("discarded")),
    client.on("step.snoozed", attempt("snoozed")),
    client.on("step.reclaimed", ({ step }) => metrics.reclaims.add({ step })),
    client.on("lease.lost", ({ step }) => metrics.leaseLosses.add({ step })),
  ];
}

/** @returns whether the database could be asked */
async function askQueues(client: Client, { depth, age }: Metrics): Promise<boolean> {
  try {
    const queues = await queueFigures(client);
    depth.replace(
      queues.flatMap((figures) =>
        (["available", "scheduled", "running"] as const).map(
          (state) => [{ queue: figures.queue, step: figures.step, state }, figures[state]] as const,
        ),
      ),
    );
    age.replace(
      queues.map(({ queue, step, oldestAvailableMs }) => [{ queue, step }, (oldestAvailableMs ?? 0) / 1000] as const),
    );
    return true;
  } catch {
    return false; // counts of this process are worth having while the database is away
  }
}

/** @returns what ends it */
function observe(
  meter: MeterLike,
  counters: readonly Counter[],
  gauges: readonly Gauge[],
  ask: () => Promise<boolean>,
): () => void {
  const instruments = [
    ...counters.map((metric) => [metric, meter.createObservableCounter(metric.about.name, optionsOf(metric))] as const),
    ...gauges.map((metric) => [metric, meter.createObservableGauge(metric.about.name, optionsOf(metric))] as const),
  ];
  const observed = instruments.map(([, instrument]) => instrument);
  const callback = async (result: ObservableResultLike): Promise<void> => {
    const asked = await ask();
    for (const [metric, instrument] of instruments) {
      if (metric.kind === "gauge" && !asked) continue;
      for (const [labels, value] of metric.series) result.observe(instrument, value, { ...labels });
    }
  };
  meter.addBatchObservableCallback(callback, observed);
  return () => meter.removeBatchObservableCallback(callback, observed);
}

/** Where a callback of OpenTelemetry puts the values of the moment. */
interface ObservableResultLike {
  observe(instrument: unknown, value: number, attributes: Attributes): void;
}

function optionsOf({ about: { description, unit } }: Metric): InstrumentOptions {
  return unit === undefined ? { description } : { description, unit };
}
