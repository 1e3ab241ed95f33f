/** Every check that needs no Postgres server of its own, then the tests: `npm run check`. */
import { spawnSync } from "node:child_process";
import { secondsSince } from "./stage.mjs";
import { ROOT } from "./workspaces.mjs";

const STEPS = ["build", "format:check", "lint", "types", "types:7", "exports", "docs:check", "knip", "test"];

for (const step of STEPS) {
  const startedAt = performance.now();
  console.log(`» npm run ${step}`);
  const ran = spawnSync("npm", ["run", "--silent", step], {
    cwd: ROOT,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (ran.status !== 0) {
    console.error(`${step} failed after ${secondsSince(startedAt)}.`);
    process.exit(ran.status ?? 1);
  }
  console.log(`  ${step} passed in ${secondsSince(startedAt)}`);
}
