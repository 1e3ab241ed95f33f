import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { messagesByClaim } from "./support/messages.ts";
import { COMPILERS, readProgram, TypeProject } from "./support/type-project.ts";

const SLOW_MS = 300_000;

let project: TypeProject;
beforeAll(async () => {
  project = await TypeProject.create();
}, SLOW_MS);
afterAll(async () => {
  await project.remove();
});

describe.each(COMPILERS)("under %s", (compiler) => {
  test("the tour compiles, and each line that must not compile doesn't", { timeout: SLOW_MS }, async () => {
    const outcome = await project.check(compiler, "tour.ts", await readProgram("tour.ts"));
    expect(outcome.output).toBe("");
    expect(outcome.passed).toBe(true);
  });

  test("a program that names its queues gets a closed set of them", { timeout: SLOW_MS }, async () => {
    const outcome = await project.check(compiler, "augmented.ts", AUGMENTED, {
      skipLibCheck: true,
      isolatedDeclarations: true,
      declaration: true,
    });
    expect(outcome.output).toBe("");
    expect(outcome.passed).toBe(true);
  });
});

describe.each(["typescript", "typescript7"] as const)("under %s", (compiler) => {
  test("each mistake of the tour is explained as it is stored", { timeout: SLOW_MS }, async () => {
    const tour = await readProgram("tour.ts");
    const program = tour.replaceAll("// @ts-expect-error ", "// mistake: ");
    const outcome = await project.check(compiler, "mistakes.ts", program, { skipLibCheck: true });
    const messages = messagesByClaim(program, outcome.output);
    expect(messages.match(/^## /gm)?.length).toBe(tour.match(/@ts-expect-error /g)?.length);
    for (const [, claimed, said] of messages.matchAll(/^## (NotJson<.*>)\n([^]*?)(?=^## |(?![^]))/gm))
      expect(said).toContain(claimed);
    await expect(messages).toMatchFileSnapshot(`./messages/${compiler}.txt`);
  });
});

// A program of its own, since an augmentation is global to one.
const AUGMENTED = `
import { defineStep, defineWorkflow, type QueueName, type Step, type Workflow } from "cyclone-pg";

declare module "cyclone-pg" {
  interface CycloneTypes {
    queues: "default" | "db";
  }
}

// Explicit annotations are all that \`isolatedDeclarations\` asks for.
export const plan: Step<string, { at: string }> = defineStep("plan", { queue: "db" }, async (_ctx, at: string) => ({ at }));
export const wf: Workflow<string, string> = defineWorkflow("wf", (b, at: string) => {
  plan.do(b, at, { queue: "default" });
  return plan.do(b, at).get("at");
});
export const queue: QueueName = "db";
// @ts-expect-error no such queue
plan.do(null as never, "x", { queue: "bd" });
// @ts-expect-error no such queue
defineStep("x", { queue: "bd" }, () => 1);
// @ts-expect-error no such queue
void plan.enqueue(null as never, "x", { queue: "bd" });
`;
