import { setTimeout as wait } from "node:timers/promises";
import { expect, it } from "vitest";
import { defineStep } from "../../src/index.ts";
import { latch } from "../support/latch.ts";
import { useOwnServer } from "../support/own-server.ts";
import { testClient, testWorker } from "../support/test-client.ts";

const server = useOwnServer();

const options = { leaseTtl: "1s", concurrency: 4, maxConnections: 8 } as const;

it("R14: Postgres is down at a worker's start: start() waits, and then it works", async () => {
  const work = defineStep("after-start", () => "done");
  await server.stop("fast");
  const client = testClient(server, { handlers: [work], ...options });
  let started = false;
  const starting = client.start().then(() => {
    started = true;
  });
  await wait(1_000);
  expect(started).toBe(false);
  await server.start();
  await starting;
  const job = await work.enqueue(client);
  expect(await job.result()).toBe("done");
  await client.stop();
});

it("Postgres is down at a worker's start, and doesn't come back: stop() ends the waiting", async () => {
  await server.stop("fast");
  const client = testClient(server, { handlers: [defineStep("never", () => {})], ...options });
  const starting = client.start();
  starting.catch(() => {});
  await wait(300);
  const began = performance.now();
  await client.stop();
  await expect(starting).rejects.toMatchObject({ code: "CYCLONE_CLIENT_STOPPED" });
  expect(performance.now() - began).toBeLessThan(2_000);
  await server.start();
});

it("Postgres is down while a worker stops: stop() ends all the same, and the step is reclaimed later", async () => {
  const [entered, gate] = [latch(), latch()];
  const step = defineStep("stopped-meanwhile", async () => {
    entered.open();
    await gate.opened;
    return "done";
  });
  const client = await testWorker(server, [step], options);
  const job = await step.enqueue(client);
  await entered.opened;
  await server.stop("immediate");
  const began = performance.now();
  gate.open();
  await client.stop({ timeout: "1s" });
  // The timeout, and five seconds for giving back what can't be given back now.
  expect(performance.now() - began).toBeLessThan(9_000);
  await server.start();
  const next = await testWorker(server, [step], options);
  expect(await next.run(job.id, step).result()).toBe("done");
  const rows = await server.query("select attempts, reclaims, lease_epoch from cyclone_steps where run_id = $1", [
    job.id,
  ]);
  expect(rows).toEqual([{ attempts: 1, reclaims: 1, lease_epoch: 2 }]);
  await next.stop();
});
