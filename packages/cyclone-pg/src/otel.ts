export type { Attribute, Attributes, SpanLike, TracerLike, TracingApi } from "./otel/api-shapes.ts";
export { type Tracing, tracing } from "./otel/tracing.ts";
