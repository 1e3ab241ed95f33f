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
  timeout: 60_000,
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
    // The first seconds warm up: caches, compiled code, pools.
    const [early, late] = [samples.slice(4, 10), samples.slice(10)];
    const growth = (of: (sample: Sample) => number): number => median(late.map(of)) - median(early.map(of));
    const shown = JSON.stringify(samples);
    expect(
      growth((sample) => sample.done),
      shown,
    ).toBeGreaterThan(100);
    expect(
      growth((sample) => sample.heap),
      shown,
    ).toBeLessThan(1_000_000);
    expect(
      growth((sample) => sample.handles),
      shown,
    ).toBeLessThanOrEqual(2);
    expect(
      growth((sample) => sample.listeners),
      shown,
    ).toBeLessThanOrEqual(0);
  } finally {
    await proxy.close();
  }
});
