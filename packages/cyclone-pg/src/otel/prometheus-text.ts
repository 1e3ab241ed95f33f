import type { Histogram, Labels, Metric } from "./metrics.ts";

/** Metrics in Prometheus' text format, version 0.0.4. */
export function prometheusText(metrics: readonly Metric[]): string {
  return metrics.map((metric) => `${linesOf(metric).join("\n")}\n`).join("");
}

function linesOf(metric: Metric): string[] {
  const { name, description, unit } = metric.about;
  const base = `${name.replaceAll(".", "_")}${unit === "s" ? "_seconds" : ""}`;
  const full = metric.kind === "counter" ? `${base}_total` : base;
  const head = [`# HELP ${full} ${description}`, `# TYPE ${full} ${metric.kind}`];
  if (metric.kind === "histogram") return [...head, ...histogramLines(full, metric)];
  return [...head, ...[...metric.series].map(([labels, value]) => `${full}${braced(labels)} ${value}`)];
}

function histogramLines(name: string, { bounds, series }: Histogram): string[] {
  return [...series].flatMap(([labels, { counts, sum, count }]) => [
    ...bounds.map((bound, i) => `${name}_bucket${braced({ ...labels, le: String(bound) })} ${counts[i] ?? 0}`),
    `${name}_bucket${braced({ ...labels, le: "+Inf" })} ${count}`,
    `${name}_sum${braced(labels)} ${sum}`,
    `${name}_count${braced(labels)} ${count}`,
  ]);
}

function braced(labels: Labels): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}="${escaped(value)}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

function escaped(value: string): string {
  return value.replace(/[\\"]/g, "\\$&").replaceAll("\n", "\\n");
}
