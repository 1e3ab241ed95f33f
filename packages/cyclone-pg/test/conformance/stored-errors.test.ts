import { describe, expect, it } from "vitest";
import { Discard, defineStep } from "../../src/index.ts";
import { attemptRows, stepRow } from "../support/engine-rows.ts";
import { recordingLog, testWorker } from "../support/test-client.ts";
import { useTestDatabase } from "../support/test-database.ts";

const database = useTestDatabase();

/** Things that handlers throw, in the worst cases. */
const thrown: Readonly<Record<string, () => unknown>> = {
  circular: () => {
    const error = Object.assign(new Error("request failed"), {
      code: "ECONNRESET",
      request: {},
    });
    error.request = { socket: Buffer.alloc(1_000_000), res: { req: error.request }, error };
    return error;
  },
  "circular cause": () => {
    const error = new Error("outer");
    error.cause = new Error("inner", { cause: error });
    return error;
  },
  text: () => "just a text",
  nothing: () => undefined,
  nil: () => null,
  number: () => 42n,
  symbol: () => Symbol("s"),
  object: () => ({ status: 500, body: { reason: "down" } }),
  "hostile proxy": () =>
    new Proxy(new Error("x"), {
      get() {
        throw new Error("from the trap");
      },
      getPrototypeOf() {
        throw new Error("from the trap");
      },
    }),
  "hostile getter": () =>
    Object.defineProperty(new Error("fine"), "message", {
      get() {
        throw new Error("from the getter");
      },
    }),
  "revoked proxy": () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  "U+0000 and surrogates": () => new Error("a\0b \ud800 c"),
  huge: () => Object.assign(new Error("m".repeat(1_000_000)), { stack: "s".repeat(1_000_000) }),
  aggregate: () => new AggregateError([new Error("first"), new Error("second")]),
  "many causes": () => {
    let error = new Error("innermost");
    for (let i = 0; i < 50; i++) error = new Error(`cause ${i}`, { cause: error });
    return error;
  },
};

describe("whatever a handler throws", () => {
  it("is recorded readably, and backoff, attempts and the log go on as with any failure", async () => {
    const throws = defineStep("throws", { maxAttempts: 2, backoff: 1 }, async (_ctx, what: string) => {
      throw thrown[what]?.();
    });
    const { log, lines } = recordingLog();
    const client = await testWorker(database, [throws], { log });
    const names = Object.keys(thrown);
    const jobs = await throws.enqueueMany(client, names);
    for (const [i, job] of jobs.entries()) {
      const name = names[i] ?? "";
      const outcome = await job.wait();
      expect(outcome.state, name).toBe("failed");
      expect(outcome.error, name).toMatchObject({
        name: expect.any(String),
        message: expect.any(String),
        node: "throws",
      });
      expect(outcome.error?.name, name).not.toBe("");
      const size = Buffer.byteLength(JSON.stringify(outcome.error));
      expect(size, name).toBeLessThan(6 * (8_192 + 16_384) * 2);
      expect(await stepRow(database, job.id), name).toMatchObject({ state: "discarded", attempts: 2 });
      expect(
        (await attemptRows(database, job.id)).map((row) => row.outcome),
        name,
      ).toEqual(["failed", "failed"]);
    }
    const logged = lines.filter((line) => line.level === "error" || line.level === "warn");
    for (const job of jobs) {
      const own = logged.filter((line) => line.fields?.["runId"] === job.id);
      expect(own.length).toBeGreaterThanOrEqual(2);
      expect(own[0]?.fields).toMatchObject({ node: "throws" });
    }
  });

  it("keeps name, message, code, stack and causes, within their limits", async () => {
    class OutOfStock extends Error {
      override name = "OutOfStock";
      code = "E_STOCK";
    }
    const throws = defineStep("details", { maxAttempts: 1 }, async (_ctx, what: string) => {
      if (what === "plain") throw new OutOfStock("none left", { cause: new TypeError("of this kind") });
      if (what === "cut") throw Object.assign(new Error(`${"é".repeat(4_095)}😀 tail`), { stack: "s".repeat(20_000) });
      throw new Discard("a\0b\ud800");
    });
    const client = await testWorker(database, [throws]);
    const [plain, cut, odd] = await Promise.all(
      (await throws.enqueueMany(client, ["plain", "cut", "odd"])).map(async (job) => (await job.wait()).error),
    );
    expect(plain).toMatchObject({
      name: "OutOfStock",
      message: "none left",
      code: "E_STOCK",
      causes: [{ name: "TypeError", message: "of this kind" }],
    });
    expect(plain?.stack).toContain("none left");
    expect(Buffer.byteLength(cut?.message ?? "")).toBeLessThanOrEqual(8_192);
    expect(cut?.message).not.toContain("\ufffd");
    expect(Buffer.byteLength(cut?.stack ?? "")).toBeLessThanOrEqual(16_384);
    expect(odd?.message).toBe("a\ufffdb\ufffd");
  });

  it("replaces the error in the row when the step completes after all", async () => {
    const recovers = defineStep("recovers", { backoff: 1 }, async (ctx) => {
      if (ctx.attempt === 1) throw new Error("at first");
    });
    const client = await testWorker(database, [recovers]);
    const job = await recovers.enqueue(client);
    expect(await job.wait()).toEqual({ state: "completed", finishedAt: expect.any(Date) });
    expect(await job.nodes()).toEqual([expect.objectContaining({ state: "completed", error: null })]);
    expect((await attemptRows(database, job.id))[0]?.error?.message).toBe("at first");
  });
});
