import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (path: string): string => readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8");

test("the example in docs/testing.md is the file that the tests run", () => {
  const example = read("packages/cyclone-pg/test/docs/testing-guide.test.ts");
  expect(read("docs/testing.md")).toContain(`\`\`\`ts\n${example}\`\`\`\n`);
});

test("the example in docs/telemetry.md is a part of the file that the tests run", () => {
  const file = read("packages/cyclone-pg/test/docs/telemetry-guide.test.ts");
  const example = /begin of the example\n([^]*?) *\/\/ end of the example/.exec(file)?.[1] ?? "not found";
  expect(read("docs/telemetry.md")).toContain(`\`\`\`ts\n${example}\`\`\`\n`);
});
