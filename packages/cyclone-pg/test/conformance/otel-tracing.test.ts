import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type Client,
  type ClientOptions,
  Discard,
  defineAction,
  defineStep,
  defineWorkflow,
  Snooze,
} from "../../src/index.ts";
import { type Tracing, tracing } from "../../src/otel.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
let traces: Tracing;

beforeAll(() => {
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager());
  api.trace.setGlobalTracerProvider(provider);
  traces = tracing(api);
});
afterAll(() => {
  api.context.disable();
  api.trace.disable();
});
beforeEach(() => exporter.reset());

const inside = defineStep("inside", async (_ctx, n: number) => {
  const span = api.trace.getTracer("application").startSpan("application's own");
  span.end();
  return n;
});
const last = defineAction("last", async (_ctx, _n: number) => {});
const flow = defineWorkflow("flow", (b, n: number) => {
  last.do(b, inside.do(b, n));
});

function traced(handlers: ClientOptions["handlers"]): Client {
  return traces.follow(
    testClient(database, { ...(handlers === undefined ? {} : { handlers }), around: traces.around }),
  );
}

/** Finished spans by name. */
function spans() {
  return Object.fromEntries(
    exporter.getFinishedSpans().map((span) => [
      span.name,
      {
        id: span.spanContext().spanId,
        trace: span.spanContext().traceId,
        parent: span.parentSpanContext?.spanId,
        kind: span.kind,
        attributes: span.attributes,
        status: span.status,
      },
    ]),
  );
}

describe("tracing()", () => {
  it("makes one trace of a request, its submit, the attempts by another client, and what handlers do", async () => {
    const producer = traced(undefined);
    const request = api.trace.getTracer("application").startSpan("request");
    const run = await api.context.with(api.trace.setSpan(api.context.active(), request), () =>
      flow.submit(producer, 1),
    );
    request.end();
    await database.kit.drain(traced([inside, last]));
    const seen = spans();
    expect(seen["submit flow"]).toMatchObject({
      parent: seen["request"]?.id,
      kind: api.SpanKind.PRODUCER,
      attributes: { "cyclone.kind": "workflow", "cyclone.name": "flow", "cyclone.run.id": run.id, "cyclone.count": 1 },
    });
    for (const name of ["attempt inside", "attempt last"]) {
      expect(seen[name]).toMatchObject({ parent: seen["submit flow"]?.id, kind: api.SpanKind.CONSUMER });
    }
    expect(seen["attempt inside"]?.attributes).toEqual({
      "cyclone.run.id": run.id,
      "cyclone.node": "inside",
      "cyclone.step": "inside",
      "cyclone.attempt": 1,
      "cyclone.reclaims": 0,
    });
    expect(seen["application's own"]?.parent).toBe(seen["attempt inside"]?.id);
    expect(new Set(Object.values(seen).map((span) => span.trace)).size).toBe(1);
  });

  it("tells failures, discards and snoozes apart", async () => {
    const fickle = defineStep("fickle", { backoff: 1 }, async (ctx) => {
      if (ctx.snoozes === 0) throw new Snooze(1);
      if (ctx.attempt === 1) throw new TypeError("odd");
      throw new Discard("enough");
    });
    const client = traced([fickle]);
    await fickle.enqueue(client);
    await database.kit.drain(client, { scheduled: true });
    const attempts = exporter.getFinishedSpans().filter((span) => span.name === "attempt fickle");
    expect(attempts.map((span) => [span.attributes["cyclone.outcome"], span.status])).toEqual([
      ["snoozed", { code: api.SpanStatusCode.UNSET }],
      ["failed", { code: api.SpanStatusCode.ERROR, message: "odd" }],
      ["discarded", { code: api.SpanStatusCode.ERROR, message: "enough" }],
    ]);
    expect(attempts[1]?.events).toMatchObject([{ attributes: { "exception.type": "TypeError" } }]);
  });

  it("marks a submit that was refused, and keeps a traceparent that was given", async () => {
    const client = traced([last]);
    await expect(last.enqueue(client, 1, { priority: 1e9 })).rejects.toMatchObject({ code: "CYCLONE_INVALID_OPTION" });
    expect(spans()["enqueue last"]?.status.code).toBe(api.SpanStatusCode.ERROR);
    const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    await last.enqueueMany(client, [1, 2], { traceparent });
    await database.kit.drain(client);
    expect(spans()["enqueue last"]?.attributes).toMatchObject({ "cyclone.count": 2 });
    const attempts = exporter.getFinishedSpans().filter((span) => span.name === "attempt last");
    expect(attempts.map((span) => span.parentSpanContext)).toMatchObject([
      { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7", isRemote: true },
      { traceId: "4bf92f3577b34da6a3ce929d0e0e4736", spanId: "00f067aa0ba902b7", isRemote: true },
    ]);
  });

  it("begins a trace for a run that was submitted without one, and stores nothing where nothing is recorded", async () => {
    const plain = testClient(database);
    await last.enqueue(plain, 1);
    const silent = tracing(api, { tracer: { startSpan: () => api.trace.wrapSpanContext(api.INVALID_SPAN_CONTEXT) } });
    await last.enqueue(silent.follow(testClient(database)), 2);
    expect((await database.kit.enqueued(last)).slice(-2)).toMatchObject([{ traceparent: null }, { traceparent: null }]);
    await database.kit.drain(traced([last]));
    const attempts = exporter.getFinishedSpans().filter((span) => span.name === "attempt last");
    expect(attempts.map((span) => span.parentSpanContext)).toEqual([undefined, undefined]);
  });
});
