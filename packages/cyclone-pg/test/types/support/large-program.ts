const STEPS = 200;
const NODES = 300;
const GETS_PER_NODE = 7;

/**
 * A program as a large team may have it: 200 steps with interfaces of their own, half of them with options, and one
 * workflow of 300 nodes whose inputs are nested three deep and take 2,100 parts of earlier outputs.
 */
export function largeProgram(): string {
  const lines = ['import { defineStep, defineWorkflow } from "cyclone-pg";', ""];
  for (let i = 0; i < STEPS; i++) lines.push(...stepLines(i));
  lines.push('export const large = defineWorkflow("large", (b, start: string) => {');
  for (let i = 0; i < NODES; i++) lines.push(`  const n${i} = step${i % STEPS}.do(b, ${inputText(i)});`);
  lines.push(`  return n${NODES - 1};`, "});", "");
  return lines.join("\n");
}

function stepLines(i: number): string[] {
  const options = i % 2 === 0 ? "" : `{ queue: "q${i % 5}", maxAttempts: ${i} }, `;
  return [
    `interface In${i} { id: string; part: { items: { href: string; weight: number; label${i}?: string }[]; total: number } }`,
    `interface Out${i} { id: string; nested: { list: { href: string; weight: number }[]; size: [width: number, height: number] }; own${i}: string }`,
    `const step${i} = defineStep("step-${i}", ${options}async (_ctx, input: In${i}): Promise<Out${i}> => ({`,
    `  id: input.id, nested: { list: input.part.items, size: [input.part.total, 1] }, own${i}: "x",`,
    "}));",
  ];
}

/** Seven gets where there is an earlier node, plain values at the start. */
function inputText(i: number): string {
  if (i === 0)
    return '{ id: start, part: { items: [{ href: start, weight: 1 }, { href: "b", weight: 2 }], total: 1 } }';
  const from = (back: number): string => `n${Math.max(0, i - back)}`;
  const gets = [
    `${from(1)}.get("id")`,
    `${from(2)}.get("own${Math.max(0, i - 2) % STEPS}")`,
    `${from(3)}.get("nested", "size", 0)`,
    `${from(4)}.get("id")`,
    `${from(5)}.get("nested", "size", 1)`,
    `${from(6)}.get("nested", "size", 0)`,
    `${from(7)}.get("nested").get("size", 1)`,
  ] as const satisfies { readonly length: typeof GETS_PER_NODE };
  const items = `[{ href: ${gets[1]}, weight: ${gets[2]} }, { href: ${gets[3]}, weight: ${gets[4]} }, { href: "c", weight: ${gets[5]} }]`;
  return `{ id: ${gets[0]}, part: { items: ${items}, total: ${gets[6]} } }`;
}
