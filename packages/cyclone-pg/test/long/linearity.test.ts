import { describe, expect, it } from "vitest";
import { COUNTING, costsPerNode, shapes, withMeasuredWorker } from "../sql/per-node-costs.ts";
import { useOwnServer } from "../support/own-server.ts";

// A node costs the same in a run of 100 and in one of 10,000: submit, run and end by a real client, all statements counted. Buffers and
// WAL tell it exactly; the database's time depends on who else uses the machine, so that the best of three tries counts. A chain is
// worked node by node and shorter here; one of 10,000 is among the tests of volume.

const server = useOwnServer(COUNTING);

const FACTOR_MAX = 1.5;
const TRIES = 3;
const SMALL = 100;
const LARGE = { chain: 1_000, layer: 10_000, "fan-in": 10_000 } as const;
const SMALL_RUNS = { chain: 4, layer: 20, "fan-in": 20 } as const;

describe("what a node costs in a large run, compared with runs of 100", () => {
  it.each(["chain", "layer", "fan-in"] as const)("as a %s", { timeout: 240_000 }, async (name) => {
    await withMeasuredWorker(server, async (client) => {
      const shape = shapes[name];
      await costsPerNode(server, client, shape, SMALL, 1); // the first runs fill caches
      let time = Number.POSITIVE_INFINITY;
      for (let i = 0; i < TRIES && time > FACTOR_MAX; i++) {
        const small = await costsPerNode(server, client, shape, SMALL, SMALL_RUNS[name]);
        const large = await costsPerNode(server, client, shape, LARGE[name], 1);
        expect(large.buffers / small.buffers).toBeLessThan(FACTOR_MAX);
        expect(large.walBytes / small.walBytes).toBeLessThan(FACTOR_MAX);
        time = Math.min(time, large.databaseMs / small.databaseMs);
      }
      expect(time).toBeLessThan(FACTOR_MAX);
    });
  });
});
