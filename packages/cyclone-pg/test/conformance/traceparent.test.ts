import { describe, expect, it } from "vitest";
import { type Context, defineAction, defineStep, defineWorkflow } from "../../src/index.ts";
import { testClient } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

const TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

const seen: (string | undefined)[] = [];
const look = (ctx: Context): void => void seen.push(ctx.traceparent);
const fetchPage = defineStep("fetch", async (ctx, n: number) => {
  look(ctx);
  if (ctx.attempt === 1) throw new Error("again");
  return n;
});
const note = defineAction("note", async (ctx, _n: number) => look(ctx));
const ingest = defineWorkflow("ingest", (b, n: number) => {
  note.do(b, fetchPage.do(b, n));
});

/** Works until nothing is left, retries included, and gives what the handlers saw. */
async function worked(start: (client: ReturnType<typeof testClient>) => Promise<unknown>) {
  seen.length = 0;
  const client = testClient(database, { handlers: [ingest, fetchPage, note] });
  await start(client);
  await database.kit.drain(client, { scheduled: true });
  return [...seen];
}

describe("a run's traceparent", () => {
  it("is the submitting side's, in the run's row and for each call of its nodes", async () => {
    expect(await worked((client) => ingest.submit(client, 1, { traceparent: TRACE }))).toEqual([TRACE, TRACE, TRACE]);
    const { rows } = await database.query("select name from cyclone_runs where traceparent = $1", [TRACE]);
    expect(rows).toEqual([{ name: "ingest" }]);
  });

  it("is undefined where the submit gave none", async () => {
    expect(await worked((client) => ingest.submit(client, 1))).toEqual([undefined, undefined, undefined]);
  });

  it("may be a job's, and that of many jobs", async () => {
    expect(await worked((client) => note.enqueue(client, 1, { traceparent: OTHER }))).toEqual([OTHER]);
    expect(await worked((client) => note.enqueueMany(client, [1, 2], { traceparent: OTHER }))).toEqual([OTHER, OTHER]);
  });

  it("stays the first submit's where an idempotency key finds the run", async () => {
    const twice = async (client: ReturnType<typeof testClient>): Promise<void> => {
      await note.enqueue(client, 1, { idempotencyKey: "traced", traceparent: TRACE });
      const again = await note.enqueue(client, 1, { idempotencyKey: "traced", traceparent: OTHER });
      expect(again.existing).toBe(true);
    };
    expect(await worked(twice)).toEqual([TRACE]);
  });

  it("that isn't one is refused before anything is written", async () => {
    const client = testClient(database);
    await expect(note.enqueue(client, 1, { traceparent: "00-0-0-01" })).rejects.toMatchObject({
      code: "CYCLONE_INVALID_OPTION",
      option: "traceparent",
    });
  });
});
