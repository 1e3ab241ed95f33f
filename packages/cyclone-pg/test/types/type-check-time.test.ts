import { afterAll, beforeAll, expect, test } from "vitest";
import { largeProgram } from "./support/large-program.ts";
import { COMPILERS, TypeProject } from "./support/type-project.ts";

const SLOW_MS = 300_000;
const INSTANTIATIONS_MAX = 350_000;
/** Of CPU time. Loose, since machines differ; the instantiations are what repeats exactly. */
const SECONDS_MAX = 30;

let project: TypeProject;
beforeAll(async () => {
  project = await TypeProject.create();
}, SLOW_MS);
afterAll(async () => {
  await project.remove();
});

test.each(COMPILERS)(
  "a program of 200 steps and 300 nodes type-checks within its budget under %s",
  { timeout: SLOW_MS },
  async (compiler) => {
    const outcome = await project.measure(compiler, "large.ts", largeProgram());
    console.log(`${compiler}: ${outcome.instantiations} instantiations, ${outcome.cpuSeconds} s of CPU`);
    expect(outcome.passed, outcome.output).toBe(true);
    expect(outcome.instantiations).toBeGreaterThan(10_000); // else nothing was measured
    expect(outcome.instantiations).toBeLessThan(INSTANTIATIONS_MAX);
    expect(outcome.cpuSeconds).toBeLessThan(SECONDS_MAX);
  },
);
