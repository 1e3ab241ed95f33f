import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (path: string): string => readFileSync(new URL(`../../../../${path}`, import.meta.url), "utf8");

test("the example in docs/testing.md is the file that the tests run", () => {
  const example = read("packages/cyclone-pg/test/docs/testing-guide.test.ts");
  expect(read("docs/testing.md")).toContain(`\`\`\`ts\n${example}\`\`\`\n`);
});
