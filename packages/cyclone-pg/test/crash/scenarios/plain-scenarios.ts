import { defineStep, defineWorkflow } from "../../../src/index.ts";
import type { RecordedCalls, SeenNode } from "./recorded-calls.ts";

const ended = ({ state }: SeenNode): boolean => state === "completed" || state === "discarded";

/** Work that succeeds, in the shapes that a completion can lead on to. */
export function plainScenarios(calls: RecordedCalls) {
  const double = defineStep(
    "double",
    calls.handler((_ctx, n: number) => ({ value: n * 2 })),
  );
  const add = defineStep(
    "add",
    calls.handler((_ctx, n: { first: number; more: number }) => ({ value: n.first + n.more })),
  );
  const sum = defineStep(
    "sum",
    calls.handler((_ctx, parts: number[]) => parts.reduce((a, b) => a + b, 0)),
  );
  /** Ends when the node that is named has ended, so that each completes by a statement of its own. */
  const inTurn = defineStep(
    "in-turn",
    calls.handler(async (ctx, { value, behind }: { value: number; behind: string | null }) => {
      if (behind !== null) await calls.until(ctx, ended, behind);
      return value;
    }),
  );
  /** Goes on until its lease has been renewed, and what it told of its progress is there. */
  const slow = defineStep(
    "slow",
    calls.job(async (ctx) => {
      const { expiry: first } = await calls.node(ctx);
      ctx.progress(0.5, "half");
      await calls.until(ctx, ({ expiry, progress }) => expiry !== first && progress === 0.5);
      return ctx.reclaims;
    }),
  );
  /** Outputs are bound into inputs, in part: 4n + 1. */
  const chain = defineWorkflow("chain", (b, n: number) => {
    const first = double.do(b, n);
    const second = add.do(b, { first: first.get("value"), more: 1 });
    return add.do(b, { first: second.get("value"), more: first.get("value") }).get("value");
  });
  /** One, three, one; the three may share a group commit: 6n + 6. */
  const fan = defineWorkflow("fan", (b, n: number) => {
    const root = double.do(b, n);
    const leaves = [1, 2, 3].map((more) => add.do(b, { first: root.get("value"), more }));
    return sum.do(
      b,
      leaves.map((leaf) => leaf.get("value")),
    );
  });
  /** Three that complete one after the other, and what they lead to: 3n + 3. */
  const turns = defineWorkflow("turns", (b, n: number) => {
    const leaves = [0, 1, 2].map((i) =>
      inTurn.do(b, { value: n + i, behind: i === 0 ? null : `leaf-${i - 1}` }, { name: `leaf-${i}` }),
    );
    return sum.do(b, leaves);
  });
  /** Two layers with an edge between any two nodes: few nodes, and many rows. */
  const layers = defineWorkflow("layers", (b, width: number) => {
    const first = Array.from({ length: width }, (_, i) => double.do(b, i));
    for (let i = 0; i < width; i++) double.do(b, i, { after: first });
  });
  const handlers = [double, add, sum, inTurn, slow];
  return { handlers, double, add, sum, inTurn, slow, chain, fan, turns, layers };
}

export type PlainScenarios = ReturnType<typeof plainScenarios>;
