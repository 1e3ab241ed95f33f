import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { createClient, defineStep } from "cyclone-pg";
import { figuresOf, tracing } from "cyclone-pg/otel";
import { createTestDatabase } from "cyclone-pg/testing";
import { expect, inject, test } from "vitest";

test("the example in docs/telemetry.md gives a trace, and metrics", async () => {
  const exporter = new InMemorySpanExporter();
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  await using database = await createTestDatabase(inject("postgres").template);
  const connection = database.url;
  const greet = defineStep("greet", async (_ctx, name: string) => `Hello, ${name}!`);

  // begin of the example
  const traces = tracing(api); // import * as api from "@opentelemetry/api"
  const client = traces.follow(createClient({ connection, handlers: [greet], around: traces.around }));
  const figures = figuresOf(client);
  figures.report(api.metrics.getMeter("cyclone")); // to OpenTelemetry, or:
  const metricsPage = () => figures.prometheus(); //  text for Prometheus, under a route of yours
  // end of the example

  const job = await greet.enqueue(client, "you");
  await client.drain();
  expect(await job.output()).toBe("Hello, you!");
  expect(exporter.getFinishedSpans().map((span) => span.name)).toEqual(["enqueue greet", "attempt greet"]);
  expect(await metricsPage()).toContain('cyclone_attempts_total{step="greet",outcome="completed"} 1');
  await client.stop();
});
