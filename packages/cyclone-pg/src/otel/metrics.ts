/** What a series is told apart by. */
export type Labels = Readonly<Record<string, string>>;

interface MetricDescription {
  /** As OpenTelemetry writes it: `cyclone.attempts`. */
  readonly name: string;
  readonly description: string;
  /** `s` for seconds; `undefined`: it counts something. */
  readonly unit?: string;
}

/** Values by their labels. */
class Series<T> {
  readonly #values = new Map<string, { readonly labels: Labels; value: T }>();

  update(labels: Labels, change: (value: T | undefined) => T): void {
    const key = JSON.stringify(labels);
    const entry = this.#values.get(key);
    if (entry === undefined) this.#values.set(key, { labels, value: change(undefined) });
    else entry.value = change(entry.value);
  }

  *[Symbol.iterator](): Iterator<readonly [Labels, T]> {
    for (const { labels, value } of this.#values.values()) yield [labels, value];
  }
}

/** Counts what happened. */
export class Counter {
  readonly kind = "counter";
  readonly about: MetricDescription;
  readonly series = new Series<number>();

  constructor(about: MetricDescription) {
    this.about = about;
  }

  add(labels: Labels): void {
    this.series.update(labels, (value = 0) => value + 1);
  }
}

/** Values of the moment, set anew each time. */
export class Gauge {
  readonly kind = "gauge";
  readonly about: MetricDescription;
  series = new Series<number>();

  constructor(about: MetricDescription) {
    this.about = about;
  }

  /** Forgets what isn't there any more. */
  replace(values: Iterable<readonly [Labels, number]>): void {
    this.series = new Series();
    for (const [labels, value] of values) this.series.update(labels, () => value);
  }
}

export interface Distribution {
  /** For each bound, how many values were at most that. */
  readonly counts: number[];
  sum: number;
  count: number;
}

/** How values are distributed. */
export class Histogram {
  readonly kind = "histogram";
  readonly about: MetricDescription;
  /** Upper bounds of its buckets, ascending. */
  readonly bounds: readonly number[];
  readonly series = new Series<Distribution>();
  readonly #listeners: ((value: number, labels: Labels) => void)[] = [];

  constructor(about: MetricDescription, bounds: readonly number[]) {
    this.about = about;
    this.bounds = bounds;
  }

  record(value: number, labels: Labels): void {
    this.series.update(labels, (distribution = { counts: this.bounds.map(() => 0), sum: 0, count: 0 }) => {
      for (const [i, bound] of this.bounds.entries())
        if (value <= bound) distribution.counts[i] = (distribution.counts[i] ?? 0) + 1;
      distribution.sum += value;
      distribution.count += 1;
      return distribution;
    });
    for (const listener of this.#listeners) listener(value, labels);
  }

  /** Told each further value: a histogram of OpenTelemetry can't be read later. */
  onRecord(listener: (value: number, labels: Labels) => void): void {
    this.#listeners.push(listener);
  }
}

export type Metric = Counter | Gauge | Histogram;
