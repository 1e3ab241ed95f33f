/** Sums vitest's JSON reports of a folder: prints `N passed, N failed`, and fails if a test failed or none ran. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const folder = process.argv[2];
if (folder === undefined) throw new Error("usage: node scripts/sum-test-reports.mjs <folder of reports>");

let passed = 0;
let failed = 0;
for (const file of readdirSync(folder)) {
  const report = JSON.parse(readFileSync(join(folder, file), "utf8"));
  passed += report.numPassedTests;
  // A file that can't be loaded has no tests; it is counted as one that failed.
  const broken = report.testResults.filter(
    (/** @type {any} */ suite) => suite.status === "failed" && suite.assertionResults.length === 0,
  );
  failed += report.numFailedTests + broken.length;
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
