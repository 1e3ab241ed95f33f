import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { createClient, defineStep } from "cyclone-pg";
import { tracing } from "cyclone-pg/otel";
import { createTestDatabase } from "cyclone-pg/testing";
import { expect, inject, test } from "vitest";

test("the example in docs/telemetry.md gives a trace", async () => {
  const exporter = new InMemorySpanExporter();
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }));
  await using database = await createTestDatabase(inject("postgres").template);
  const connection = database.url;
  const greet = defineStep("greet", async (_ctx, name: string) => `Hello, ${name}!`);

  // begin of the example
  const traces = tracing(api); // import * as api from "@opentelemetry/api"
  const client = traces.follow(createClient({ connection, handlers: [greet], around: traces.around }));
  // end of the example

  const job = await greet.enqueue(client, "you");
  await client.drain();
  expect(await job.output()).toBe("Hello, you!");
  expect(exporter.getFinishedSpans().map((span) => span.name)).toEqual(["enqueue greet", "attempt greet"]);
  await client.stop();
});
