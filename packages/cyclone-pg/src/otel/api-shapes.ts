// What is used of OpenTelemetry, by shape: `@opentelemetry/api` itself fits, in any version 1, and nothing has to be installed for the
// types. Contexts are opaque, so that only any takes those of each version.

/** A value of an attribute. */
export type Attribute = string | number | boolean;
export type Attributes = Record<string, Attribute>;

export interface SpanLike {
  spanContext(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
  setAttribute(key: string, value: Attribute): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  recordException(exception: { name: string; message: string; stack?: string }): unknown;
  end(): void;
}

export interface TracerLike {
  // oxlint-disable-next-line typescript/no-explicit-any -- see above
  startSpan(name: string, options?: { kind?: number; attributes?: Attributes }, context?: any): SpanLike;
}

/** The part of `@opentelemetry/api` that {@link tracing} uses: pass the module itself. */
export interface TracingApi {
  // oxlint-disable-next-line typescript/no-explicit-any -- see above
  readonly ROOT_CONTEXT: any;
  readonly context: {
    // oxlint-disable-next-line typescript/no-explicit-any -- see above
    active(): any;
    // oxlint-disable-next-line typescript/no-explicit-any -- see above
    with<T>(context: any, work: () => T): T;
  };
  readonly trace: {
    getTracer(name: string, version?: string): TracerLike;
    // oxlint-disable-next-line typescript/no-explicit-any -- see above
    setSpan(context: any, span: any): any;
    // oxlint-disable-next-line typescript/no-explicit-any -- see above
    setSpanContext(context: any, spanContext: any): any;
  };
}

/** The part of an OpenTelemetry `Meter` that `figuresOf` reports to. */
export interface MeterLike {
  createHistogram(name: string, options?: InstrumentOptions): { record(value: number, attributes?: Attributes): void };
  createObservableCounter(name: string, options?: InstrumentOptions): unknown;
  createObservableGauge(name: string, options?: InstrumentOptions): unknown;
  // oxlint-disable-next-line typescript/no-explicit-any -- see above
  addBatchObservableCallback(callback: (result: any) => unknown, instruments: any[]): void;
  // oxlint-disable-next-line typescript/no-explicit-any -- see above
  removeBatchObservableCallback(callback: (result: any) => unknown, instruments: any[]): void;
}

export interface InstrumentOptions {
  description?: string;
  unit?: string;
  advice?: { explicitBucketBoundaries?: number[] };
}
