/** Sums vitest's JSON reports of a folder: names what failed, prints `N passed, N failed`, and fails if a test failed or none ran. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

const folder = process.argv[2];
if (folder === undefined) throw new Error("usage: node scripts/sum-test-reports.mjs <folder of reports>");

/** Of a failure's message: the reason, and not the whole trace. */
const MESSAGE_LINES = 4;

/**
 * @param {string} name
 * @param {readonly string[]} messages
 */
function tell(name, messages) {
  const message = messages.join("\n").split("\n").slice(0, MESSAGE_LINES).join("\n    ");
  console.log(`failed: ${name}\n    ${message}`);
}

let passed = 0;
let failed = 0;
for (const file of readdirSync(folder)) {
  const report = JSON.parse(readFileSync(join(folder, file), "utf8"));
  const run = basename(file, ".json");
  passed += report.numPassedTests;
  failed += report.numFailedTests;
  for (const suite of report.testResults) {
    for (const test of suite.assertionResults) {
      if (test.status === "failed") tell(`${run}: ${suite.name} > ${test.fullName}`, test.failureMessages);
    }
    // A file that can't be loaded has no tests; it is counted as one that failed.
    if (suite.status === "failed" && suite.assertionResults.length === 0) {
      failed += 1;
      tell(`${run}: ${suite.name}`, [suite.message]);
    }
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 && passed > 0 ? 0 : 1);
