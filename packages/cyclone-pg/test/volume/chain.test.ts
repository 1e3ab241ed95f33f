import { expect, it } from "vitest";
import { COUNTING, costsPerNode, shapes, withMeasuredWorker } from "../sql/per-node-costs.ts";
import { useOwnServer } from "../support/own-server.ts";

const server = useOwnServer(COUNTING);

it("a node of a chain of 10,000 costs at most 1.5 times what one of a chain of 100 does", {
  timeout: 1_800_000,
}, async () => {
  await withMeasuredWorker(server, async (client) => {
    await costsPerNode(server, client, shapes.chain, 100, 1);
    const small = await costsPerNode(server, client, shapes.chain, 100, 10);
    const large = await costsPerNode(server, client, shapes.chain, 10_000, 1);
    console.log(JSON.stringify({ small, large }));
    expect(large.buffers / small.buffers).toBeLessThan(1.5);
    expect(large.walBytes / small.walBytes).toBeLessThan(1.5);
    expect(large.databaseMs / small.databaseMs).toBeLessThan(1.5);
  });
});
