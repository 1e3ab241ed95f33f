import { expect, it } from "vitest";
import { defineStep, defineWorkflow, RunNotCompletedError } from "../../src/index.ts";
import { testClient, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

interface Page {
  url: string;
  body: string;
}
interface Receipt {
  url: string;
  bytes: number;
}

it("declares the work, submits it and reads the run: three calls", async () => {
  const calls: string[] = [];
  const fetchPage = defineStep("fetch", async (ctx, url: string): Promise<Page> => {
    calls.push(ctx.node);
    return { url, body: "<p>hello</p>" };
  });
  const save = defineStep("save", async (ctx, page: Page): Promise<Receipt> => {
    calls.push(ctx.node);
    return { url: page.url, bytes: page.body.length };
  });
  const ingest = defineWorkflow("ingest", (b, url: string) => {
    const page = fetchPage.do(b, url);
    return save.do(b, page);
  });

  const producer = testClient(database);
  const run = await ingest.submit(producer, "https://example.com");
  // The builder has run, and called no handler.
  expect(calls).toEqual([]);
  expect(await run.state()).toBe("running");
  await expect(run.output()).rejects.toBeInstanceOf(RunNotCompletedError);

  // The work is in Postgres: a worker that starts afterwards, with the same definitions, does it.
  await testWorker(database, [ingest, fetchPage, save]);
  const receipt = await run.result();
  expect(receipt).toEqual({ url: "https://example.com", bytes: 12 });
  expect(calls).toEqual(["fetch", "save"]);

  expect(await run.wait()).toEqual({ state: "completed", finishedAt: expect.any(Date) });
  expect(await run.output()).toEqual(receipt);
  expect(await run.node("fetch").output()).toEqual({ url: "https://example.com", body: "<p>hello</p>" });
});
