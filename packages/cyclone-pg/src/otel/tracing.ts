import type { Around } from "../builder/around.ts";
import { CLIENT_PORT, type ClientLike, type ClientPort } from "../builder/client-port.ts";
import type { Context } from "../builder/context.ts";
import type { DefinitionRuntime } from "../builder/definition.ts";
import type { Run } from "../builder/run.ts";
import { ShutdownError } from "../errors/abort-errors.ts";
import { Discard } from "../errors/discard.ts";
import { Snooze } from "../errors/snooze.ts";
import { toStoredError } from "../model/stored-error.ts";
import type { SpanLike, TracerLike, TracingApi } from "./api-shapes.ts";

// The numbers of OpenTelemetry's enumerations.
const PRODUCER = 3;
const CONSUMER = 4;
const ERROR = 2;

/** Spans of submits and of attempts. */
export interface Tracing {
  /**
   * For `createClient({ around })`: a span around each attempt, child of the span that submitted the run, and the active one while the
   * handler is called. It ends with the handler, before its outcome is recorded.
   */
  readonly around: Around;
  /** Makes a span of each submit and enqueue through this client, child of the active one, and its runs' `traceparent`. @returns the client */
  follow<C extends ClientLike>(client: C): C;
}

/**
 * Spans from submit to attempt, in one trace.
 * @param api the module `@opentelemetry/api`
 * @param options `tracer`: another than `api.trace.getTracer("cyclone-pg")`
 */
export function tracing(api: TracingApi, options: { tracer?: TracerLike } = {}): Tracing {
  const tracer = options.tracer ?? api.trace.getTracer("cyclone-pg");
  return {
    around: (ctx, next) => aroundAttempt(api, tracer, ctx, next),
    follow: (client) => {
      const port = client[CLIENT_PORT];
      (client as { [CLIENT_PORT]: ClientPort })[CLIENT_PORT] = followed(api, tracer, port);
      return client;
    },
  };
}

function aroundAttempt(api: TracingApi, tracer: TracerLike, ctx: Context, next: () => Promise<unknown>): unknown {
  const parent =
    ctx.traceparent === undefined
      ? api.ROOT_CONTEXT
      : api.trace.setSpanContext(api.ROOT_CONTEXT, { ...spanContextOf(ctx.traceparent), isRemote: true });
  const attributes = {
    "cyclone.run.id": ctx.runId,
    "cyclone.node": ctx.node,
    "cyclone.step": ctx.step,
    "cyclone.attempt": ctx.attempt,
    "cyclone.reclaims": ctx.reclaims,
  };
  const span = tracer.startSpan(`attempt ${ctx.step}`, { kind: CONSUMER, attributes }, parent);
  return api.context.with(api.trace.setSpan(parent, span), async () => {
    try {
      return await next();
    } catch (thrown) {
      const outcome = outcomeOf(ctx, thrown);
      span.setAttribute("cyclone.outcome", outcome);
      if (outcome === "failed" || outcome === "discarded") fail(span, thrown);
      throw thrown;
    } finally {
      span.end();
    }
  });
}

function outcomeOf(ctx: Context, thrown: unknown): string {
  if (ctx.signal.reason instanceof ShutdownError) return "released";
  if (thrown instanceof Snooze) return "snoozed";
  return thrown instanceof Discard ? "discarded" : "failed";
}

function followed(api: TracingApi, tracer: TracerLike, port: ClientPort): ClientPort {
  const submitted = async <T>(
    { kind, name }: DefinitionRuntime,
    count: number,
    given: string | undefined,
    start: (added: { traceparent?: string }) => Promise<T>,
    idOf: (started: T) => string | undefined,
  ): Promise<T> => {
    const attributes = { "cyclone.kind": kind, "cyclone.name": name, "cyclone.count": count };
    const span = tracer.startSpan(`${kind === "workflow" ? "submit" : "enqueue"} ${name}`, {
      kind: PRODUCER,
      attributes,
    });
    try {
      const own = given ?? traceparentOf(span);
      const added = own === undefined ? {} : { traceparent: own };
      const started = await api.context.with(api.trace.setSpan(api.context.active(), span), () => start(added));
      const id = idOf(started);
      if (id !== undefined) span.setAttribute("cyclone.run.id", id);
      return started;
    } catch (thrown) {
      fail(span, thrown);
      throw thrown;
    } finally {
      span.end();
    }
  };
  return {
    start: (definition, input, options) =>
      submitted(
        definition,
        1,
        options?.traceparent,
        (added) => port.start(definition, input, { ...options, ...added }),
        (run: Run<unknown>) => run.id,
      ),
    startMany: (definition, inputs, options) =>
      submitted(
        definition,
        inputs.length,
        options?.traceparent,
        (added) => port.startMany(definition, inputs, { ...options, ...added }),
        () => undefined,
      ),
  };
}

function fail(span: SpanLike, thrown: unknown): void {
  const { name, message, stack } = toStoredError(thrown);
  span.recordException({ name, message, ...(stack === undefined ? {} : { stack }) });
  span.setStatus({ code: ERROR, message });
}

/** `undefined` where nothing is recorded: the API without an SDK gives spans without ids. */
function traceparentOf(span: SpanLike): string | undefined {
  const { traceId, spanId, traceFlags } = span.spanContext();
  if (/^0*$/.test(traceId) || /^0*$/.test(spanId)) return undefined;
  return `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, "0")}`;
}

/** Of a checked traceparent: its parts are at the same places in each version. */
function spanContextOf(traceparent: string): { traceId: string; spanId: string; traceFlags: number } {
  return {
    traceId: traceparent.slice(3, 35),
    spanId: traceparent.slice(36, 52),
    traceFlags: Number.parseInt(traceparent.slice(53, 55), 16),
  };
}
