import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import * as here from "../../src/index.ts";
import { stepRow } from "../support/engine-rows.ts";
import { NODE_BUNDLE } from "../support/node-bundle.ts";
import { testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();
let there: typeof here;
let folder: string;

beforeAll(async () => {
  // A second copy of the package in this process, as two versions in one node_modules tree are.
  folder = mkdtempSync(join(tmpdir(), "cyclone-copy-"));
  const outfile = join(folder, "copy.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL("../../src/index.ts", import.meta.url))],
    outfile,
    ...NODE_BUNDLE,
  });
  there = (await import(/* @vite-ignore */ pathToFileURL(outfile).href)) as typeof here;
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

describe("another copy of the package", () => {
  it("is really another one", () => {
    expect(there.defineStep).not.toBe(here.defineStep);
    expect(there.CycloneError).not.toBe(here.CycloneError);
  });

  it("gives definitions that this one registers, builds with and submits", async () => {
    const add = there.defineStep("add", async (_ctx, n: number) => n + 1);
    const double = here.defineStep("double", async (_ctx, n: number) => n * 2);
    const mixed = here.defineWorkflow("mixed", (b) => double.do(b, add.do(b, double.do(b, 4))));
    const theirs = there.defineWorkflow("theirs", (b) => add.do(b, double.do(b, 4)));
    const client = await testWorker(database, [add, double, mixed, theirs]);
    expect(await (await mixed.submit(client)).result()).toBe(18);
    expect(await (await theirs.submit(client)).result()).toBe(9);
    expect(await (await add.enqueue(client, 1)).result()).toBe(2);
    expect(await client.run((await theirs.submit(client)).id, theirs).result()).toBe(9);
  });

  it("gives contracts that this one implements", async () => {
    const contract = there.defineStep<number, number>("contract");
    const handler = here.implement(contract, async (_ctx, n) => n - 1);
    const client = await testWorker(database, [handler]);
    expect(await (await contract.enqueue(client, 1)).result()).toBe(0);
  });

  it("throws Discard, Snooze and RetryAfter that this one's worker understands", async () => {
    const odd = here.defineStep("odd", { backoff: "1h" }, async (ctx) => {
      if (ctx.snoozes === 0) throw new there.Snooze("10ms");
      if (ctx.attempt === 1) throw new there.RetryAfter("10ms");
      throw new there.Discard("enough");
    });
    const client = await testWorker(database, [odd]);
    const job = await odd.enqueue(client);
    expect(await job.wait()).toMatchObject({ state: "failed", error: { message: "enough" } });
    expect(await stepRow(database, job.id)).toMatchObject({ attempts: 2, snoozes: 1, state: "discarded" });
  });

  it("throws errors that are instances of this one's classes, and the other way round", async () => {
    const error = new there.RunNotFoundError("x");
    expect(error).toBeInstanceOf(here.RunNotFoundError);
    expect(error).toBeInstanceOf(here.CycloneError);
    expect(error).not.toBeInstanceOf(here.ProducerOnlyError);
    expect(here.isCycloneError(error)).toBe(true);
    expect(there.isCycloneError(new here.ProducerOnlyError())).toBe(true);
    expect(new here.Snooze(1)).toBeInstanceOf(there.Snooze);
  });
});
