import { randomUUID } from "node:crypto";
import { Client } from "pg";
import { beforeEach, describe, expect, it } from "vitest";
import { CrashCoverage } from "./crash-coverage.ts";
import { type CrashEnumeration, enumerateCrashPoints } from "./enumerate-crash-points.ts";
import { type CrashPairs, sampleCrashPairs } from "./sample-crash-pairs.ts";
import { useTestDatabase } from "./test-database.ts";

const database = useTestDatabase();

beforeEach(async () => {
  await database.query("drop table if exists stand_in_steps, stand_in_ledger");
  await database.query("create table stand_in_steps (id uuid primary key, state text not null, epoch int not null)");
  await database.query("create table stand_in_ledger (id uuid not null)");
});

type Work = (client: Client, id: string) => Promise<void>;

/** Completes a step with a ledger row in one transaction; `fenced` decides whether a repeat is noticed. */
function completion(fenced: boolean): Work {
  return async (client, id) => {
    await client.query("begin");
    await client.query("insert into stand_in_ledger (id) values ($1)", [id]);
    const done = await client.query(
      `/* cyclone:complete_stand_in */ update stand_in_steps set state = 'completed'
       where id = $1 and ($2::boolean is false or state = 'running')`,
      [id, fenced],
    );
    await client.query(done.rowCount === 1 ? "commit" : "rollback");
  };
}

/** A stand-in worker: when its connection breaks it opens another, and does the work again. */
function standIn(work: Work): Pick<CrashEnumeration, "operation" | "check"> {
  let id = "";
  return {
    operation: async (url) => {
      id = randomUUID();
      await database.query("insert into stand_in_steps values ($1, 'running', 1)", [id]);
      for (let attempt = 1; attempt <= 3; attempt++) {
        const client = new Client({ connectionString: url });
        client.on("error", () => {});
        try {
          await client.connect();
          await work(client, id);
          return;
        } catch {
          // Cut: once more, on a new connection.
        } finally {
          await client.end().catch(() => {});
        }
      }
    },
    check: async () => {
      const { rows } = await database.query<{ state: string; ledger: number }>(
        "select state, (select count(*)::int from stand_in_ledger l where l.id = s.id) as ledger from stand_in_steps s where id = $1",
        [id],
      );
      const [row] = rows;
      return row?.state === "completed" && row.ledger === 1 ? [] : [`${row?.ledger} ledger rows, step ${row?.state}`];
    },
  };
}

describe("enumerateCrashPoints", () => {
  it("finds a sloppy completion exactly at the swallowed COMMIT", async () => {
    const report = await enumerateCrashPoints({
      transition: "sloppy",
      target: database.url,
      ...standIn(completion(false)),
    });
    expect(report.uncut).toEqual([
      "begin",
      "insert into stand_in_ledger (id) values ($1)",
      "complete_stand_in",
      "commit (insert into stand_in_ledger (id) values ($1), complete_stand_in)",
    ]);
    expect(report.points).toHaveLength(8);
    expect(report.points.filter((point) => point.violations.length > 0)).toEqual([
      expect.objectContaining({ k: 4, side: "after", violations: ["2 ledger rows, step completed"] }),
    ]);
    expect(report.violations).toEqual([
      expect.stringMatching(/^sloppy, cut after point 4 "commit \(.*complete_stand_in\)": 2 ledger rows/),
    ]);
  });

  it("finds nothing wrong with a fenced one", async () => {
    const report = await enumerateCrashPoints({
      transition: "fenced",
      target: database.url,
      ...standIn(completion(true)),
    });
    expect(report.violations).toEqual([]);
    expect(report.points.map((point) => `${point.side} ${point.k}`).join(", ")).toBe(
      "before 1, before 2, before 3, before 4, after 1, after 2, after 3, after 4",
    );
    expect(report.neverCut).toEqual([]);
  });

  it("cuts by label what comes in another order each time", async () => {
    const connectAll = (url: string): Promise<Client[]> =>
      Promise.all(
        ["one", "two"].map(async (name) => {
          const client = new Client({ connectionString: url, application_name: name });
          client.on("error", () => {});
          await client.connect();
          return client;
        }),
      );
    let runs = 0;
    const report = await enumerateCrashPoints({
      transition: "concurrent",
      target: database.url,
      by: "label",
      operation: async (url) => {
        const clients = await connectAll(url);
        if (runs++ % 2 === 1) clients.reverse();
        try {
          for (const [index, client] of clients.entries()) {
            await client.query(`/* cyclone:${runs % 2 === index ? "left" : "right"} */ select 1`);
            await client.query("/* cyclone:both */ select 2");
          }
        } finally {
          await Promise.all(clients.map((client) => client.end().catch(() => {})));
        }
      },
      check: async () => [],
    });
    expect(new Set(report.uncut)).toEqual(new Set(["left", "right", "both"]));
    const cut = (side: string): string[] =>
      report.points.filter((point) => point.side === side).map((point) => `${point.label} ${point.k}`);
    expect(cut("before").sort()).toEqual(["both 1", "both 2", "left 1", "right 1"]);
    expect(cut("after").sort()).toEqual(["both 1", "both 2", "left 1", "right 1"]);
    expect(report.neverCut).toEqual([]);
  });

  it("recovers after each cut, by the same URL and uncut", async () => {
    const seen: string[] = [];
    let done = 0;
    const report = await enumerateCrashPoints({
      transition: "given up",
      target: database.url,
      operation: async (url) => {
        const client = new Client({ connectionString: url });
        client.on("error", () => {});
        await client.connect();
        try {
          await client.query("select 1");
          done++;
        } finally {
          await client.end().catch(() => {});
        }
      },
      recover: async (url, k, side) => {
        const client = new Client({ connectionString: url });
        await client.connect();
        await client.query("select 1");
        await client.end();
        seen.push(`${k} ${side}`);
      },
      check: async () => [],
    });
    expect(seen).toEqual(["1 before", "1 after"]);
    expect(report.points.map((point) => point.error)).toEqual([expect.stringMatching(/./), expect.stringMatching(/./)]);
    expect(done).toBe(3);
  });

  it("counts only what it is told to", async () => {
    const report = await enumerateCrashPoints({
      transition: "only",
      target: database.url,
      ...standIn(completion(true)),
      only: (text) => text.includes("cyclone:"),
    });
    expect(report.uncut).toEqual(["complete_stand_in"]);
    expect(report.points).toHaveLength(2);
  });

  it("reports an operation that hangs after a cut", async () => {
    const report = await enumerateCrashPoints({
      transition: "hung",
      target: database.url,
      limitMs: 1_500,
      operation: async (url) => {
        const client = new Client({ connectionString: url });
        client.on("error", () => {});
        await client.connect();
        await client.query("select 1").catch(() => new Promise(() => {}));
        await client.end();
      },
      check: async () => [],
    });
    expect(report.violations).toHaveLength(2);
    expect(report.violations[0]).toMatch(/cut before point 1 "select \?": the operation didn't end within 1500 ms/);
  });

  it("throws what an uncut operation throws", async () => {
    const failing = enumerateCrashPoints({
      transition: "failing",
      target: database.url,
      operation: async () => {
        throw new Error("broken without a cut");
      },
      check: async () => [],
    });
    await expect(failing).rejects.toThrow("broken without a cut");
  });
});

describe("sampleCrashPairs", () => {
  /** Completes what is left when it is called again, looking first: an interrupted recovery is repeated. */
  const twice = (fenced: boolean): Pick<CrashPairs, "operation" | "recover" | "check"> => {
    let id = "";
    const once = async (url: string): Promise<void> => {
      const client = new Client({ connectionString: url });
      client.on("error", () => {});
      await client.connect();
      try {
        await completion(fenced)(client, id);
      } finally {
        await client.end().catch(() => {});
      }
    };
    return {
      operation: async (url) => {
        id = randomUUID();
        await database.query("insert into stand_in_steps values ($1, 'running', 1)", [id]);
        await once(url);
      },
      recover: async (url) => {
        const { rows } = await database.query("select 1 from stand_in_steps where id = $1 and state = 'running'", [id]);
        // The fenced one may look; the sloppy one repeats a recovery that was cut after its COMMIT.
        if (!fenced || rows.length > 0) await once(url);
      },
      check: async () => {
        const { rows } = await database.query("select 1 from stand_in_ledger where id = $1", [id]);
        return rows.length === 1 ? [] : [`${rows.length} ledger rows`];
      },
    };
  };

  it("finds nothing wrong with a fenced recovery, and repeats its pairs by seed", async () => {
    const options = { transition: "fenced", target: database.url, samples: 8, seed: 7, ...twice(true) };
    const report = await sampleCrashPairs(options);
    expect(report.violations).toEqual([]);
    expect(report.pairs).toHaveLength(8);
    expect(report.pairs.some((pair) => pair.cuts.length === 2)).toBe(true);
    const again = await sampleCrashPairs(options);
    expect(again.pairs).toEqual(report.pairs);
  });

  it("finds a sloppy one, and prints the seed", async () => {
    const report = await sampleCrashPairs({
      transition: "sloppy",
      target: database.url,
      samples: 12,
      seed: 1,
      ...twice(false),
    });
    expect(report.violations[0]).toMatch(/^sloppy, seed 1, sample \d+: cut .* ledger rows$/);
  });
});

describe("CrashCoverage", () => {
  it("names transitions that weren't enumerated, and points that were never cut", async () => {
    const coverage = new CrashCoverage();
    await enumerateCrashPoints({
      transition: "complete",
      target: database.url,
      ...standIn(completion(true)),
      coverage,
    });
    expect(coverage.gaps(["complete"])).toEqual([]);
    expect(coverage.gaps(["complete", "claim"])).toEqual(["claim: never enumerated"]);
    expect(coverage.statementsNeverCut(["complete_stand_in", "claim_steps"])).toEqual(["claim_steps"]);

    // An operation that does more in its first run than in the later ones hides points from the cuts.
    let runs = 0;
    await enumerateCrashPoints({
      transition: "shrinking",
      target: database.url,
      coverage,
      operation: async (url) => {
        const client = new Client({ connectionString: url });
        client.on("error", () => {});
        await client.connect();
        try {
          await client.query("select 1");
          if (runs++ === 0) await client.query("/* cyclone:rare_statement */ select 2");
        } finally {
          await client.end().catch(() => {});
        }
      },
      check: async () => [],
    });
    expect(coverage.gaps(["complete", "shrinking"])).toEqual([
      'shrinking: never cut before "rare_statement"',
      'shrinking: never cut after "rare_statement"',
    ]);
  });
});
