/**
 * Traces and metrics, for OpenTelemetry and Prometheus.
 *
 * @module cyclone-pg/otel
 */
export type {
  Attribute,
  Attributes,
  InstrumentOptions,
  MeterLike,
  SpanLike,
  TracerLike,
  TracingApi,
} from "./otel/api-shapes.ts";
export { type Figures, figuresOf } from "./otel/figures.ts";
export { type Tracing, tracing } from "./otel/tracing.ts";
