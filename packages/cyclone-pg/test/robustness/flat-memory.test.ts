import { join } from "node:path";
import { expect, it } from "vitest";
import { type CrashProxy, startCrashProxy } from "../support/crash-proxy.ts";
import { useFixture } from "../support/fixture.ts";
import { spawnFixture } from "../support/process.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
const program = useFixture(join(import.meta.dirname, "fixtures/measured-worker.ts"));

interface Sample {
  readonly heap: number;
  readonly handles: number;
  readonly listeners: number;
  readonly done: number;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0;

it("R54: a worker that polls, renews and reconnects at 100 steps a second has flat heap after GC, handles and listeners", {
  timeout: 90_000,
}, async () => {
  const proxy: CrashProxy = await startCrashProxy({ target: database.url });
  try {
    const running = spawnFixture(program.path, [proxy.url]);
    const samples: Sample[] = [];
    for (let n = 1; n <= 16; n++) {
      const line = await running.waitForLine(new RegExp(`^sample ${n} `));
      samples.push(JSON.parse(line.slice(line.indexOf("{"))) as Sample);
      // Every third second all connections are lost, and come back.
      if (n % 3 === 0) proxy.network.reset();
    }
    // The first seconds warm up: caches, compiled code, pools. What grows does so over most spans of three seconds, each of which has one
    // loss of the connections; code that is compiled late is a single step.
    const warm = samples.slice(4);
    const growth = (of: (sample: Sample) => number): number =>
      median(warm.slice(3).map((sample, i) => of(sample) - of(warm[i] ?? sample)));
    const shown = JSON.stringify(samples);
    expect(
      growth((sample) => sample.done),
      shown,
    ).toBeGreaterThan(0);
    expect(
      growth((sample) => sample.heap),
      shown,
    ).toBeLessThan(500_000);
    expect(
      growth((sample) => sample.handles),
      shown,
    ).toBeLessThanOrEqual(1);
    expect(
      growth((sample) => sample.listeners),
      shown,
    ).toBeLessThanOrEqual(0);
  } finally {
    await proxy.close();
  }
});
