// What is used of OpenTelemetry, by shape: `@opentelemetry/api` itself fits, in any version 1, and nothing has to be installed for the
// types.
/* oxlint-disable typescript/no-explicit-any -- contexts are opaque, and parameters: only any takes those of each version */

/** A value of an attribute. */
export type Attribute = string | number | boolean;
/** Attributes of a span or of a measurement, by name. */
export type Attributes = Record<string, Attribute>;

/** The part of an OpenTelemetry `Span` that {@link tracing} uses. */
export interface SpanLike {
  spanContext(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
  setAttribute(key: string, value: Attribute): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  recordException(exception: { name: string; message: string; stack?: string }): unknown;
  end(): void;
}

/** The part of an OpenTelemetry `Tracer` that {@link tracing} uses. */
export interface TracerLike {
  startSpan(name: string, options?: { kind?: number; attributes?: Attributes }, context?: any): SpanLike;
}

/** The part of `@opentelemetry/api` that {@link tracing} uses: pass the module itself. */
export interface TracingApi {
  readonly ROOT_CONTEXT: any;
  readonly context: {
    active(): any;
    with<T>(context: any, work: () => T): T;
  };
  readonly trace: {
    getTracer(name: string, version?: string): TracerLike;
    setSpan(context: any, span: any): any;
    setSpanContext(context: any, spanContext: any): any;
  };
}

/** The part of an OpenTelemetry `Meter` that `figuresOf` reports to. */
export interface MeterLike {
  createHistogram(name: string, options?: InstrumentOptions): { record(value: number, attributes?: Attributes): void };
  createObservableCounter(name: string, options?: InstrumentOptions): unknown;
  createObservableGauge(name: string, options?: InstrumentOptions): unknown;
  addBatchObservableCallback(callback: (result: any) => unknown, instruments: any[]): void;
  removeBatchObservableCallback(callback: (result: any) => unknown, instruments: any[]): void;
}

/** The options of an OpenTelemetry instrument that `figuresOf` gives. */
export interface InstrumentOptions {
  description?: string;
  unit?: string;
  advice?: { explicitBucketBoundaries?: number[] };
}
