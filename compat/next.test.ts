import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, inject, it, onTestFinished } from "vitest";
import { defineStep } from "../packages/cyclone-pg/src/index.ts";
import { freePort } from "../packages/cyclone-pg/test/support/free-port.ts";
import { spawnFixture } from "../packages/cyclone-pg/test/support/process.ts";
import { testWorker } from "../packages/cyclone-pg/test/support/test-client.ts";
import { useTestDatabase } from "../packages/cyclone-pg/test/support/test-database.ts";
import { buildNextApp, NEXT } from "./support/next-app.ts";

const database = useTestDatabase();
const { installed } = inject("packed");
/** Longer than a busy machine may let a process wait. */
const LEASE_MS = 2_500;
const BLOCK_MS = 3 * LEASE_MS;
/** On a machine that is busy with other things. */
const READY_WITHIN_MS = 60_000;
const ANSWER_WITHIN_MS = 90_000;

interface Server {
  readonly file: string;
  readonly args?: readonly string[];
  readonly cwd: string;
}

it("Next.js, built by Turbopack: next start, and the standalone server in another folder, work off what a request submits", async () => {
  const { folder, standalone, output } = buildNextApp(installed, [], { STANDALONE: "1" });
  expect(output).toContain("(Turbopack)");
  expect(output).not.toMatch(/warn|⚠/i);
  const cwd = mkdtempSync(join(tmpdir(), "cyclone-next-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  cpSync(standalone.folder, cwd, { recursive: true, verbatimSymlinks: true });
  await Promise.all([
    expectRequestIsWorked({ file: NEXT, args: ["start"], cwd: folder }, "turbopack"),
    expectRequestIsWorked({ file: join(cwd, standalone.server), cwd }, "standalone"),
  ]);
});

it("Next.js, compiled by webpack: next start works off what a request submits", async () => {
  // Without the build's last stage, which looks for the files that a copied server needs: a minute for what is known already.
  const { folder, output } = buildNextApp(installed, ["--webpack", "--experimental-build-mode", "compile"], {});
  expect(output).toContain("(webpack)");
  expect(output).not.toMatch(/warn|⚠/i);
  await expectRequestIsWorked({ file: NEXT, args: ["start"], cwd: folder }, "webpack");
});

/** Starts the server and sends it one request, whose handler then blocks the server for three leases. */
async function expectRequestIsWorked({ file, args = [], cwd }: Server, schema: string): Promise<void> {
  const port = String(await freePort());
  const running = spawnFixture(
    file,
    args,
    { DATABASE_URL: database.url, SCHEMA: schema, LEASE_MS: String(LEASE_MS), PORT: port, HOSTNAME: "127.0.0.1" },
    { cwd },
  );
  await running.waitForLine(/Ready in/, READY_WITHIN_MS);
  const answer = fetch(`http://127.0.0.1:${port}/runs`, {
    method: "POST",
    body: JSON.stringify({ n: 20, blockMs: BLOCK_MS }),
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
  await running.waitForLine(/^blocking$/, READY_WITHIN_MS);
  let takenOver = 0;
  const compute = defineStep("compute", (_ctx, _input: unknown) => void (takenOver += 1));
  await testWorker(database, [compute], { schema, leaseTtl: LEASE_MS });

  expect(await (await answer).json()).toEqual({ result: 41 });
  expect(takenOver).toBe(0);
  const { rows } = await database.query(
    `select step, state::text as state, attempts, reclaims, lease_epoch from ${schema}.cyclone_steps order by step`,
  );
  const once = { state: "completed", attempts: 1, reclaims: 0, lease_epoch: 1 };
  expect(rows).toEqual([
    { step: "compute", ...once },
    { step: "double", ...once },
  ]);
  // The one warning that is due: the event loop was blocked for more than 5 s.
  expect(running.errorOutput).toMatch(/^cyclone: A handler kept the event loop from running: [^\n]+\n$/);
  await running.kill("SIGTERM");
}
