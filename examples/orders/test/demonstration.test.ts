import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const MAIN = fileURLToPath(new URL("../dist/main.js", import.meta.url));

test("two workers die over an order, and it is charged, shipped and mailed once", { timeout: 90_000 }, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [MAIN]);
  expect(stdout.match(/rows that others see: \d/g)).toEqual(["rows that others see: 0", "rows that others see: 1"]);
  expect(stdout).toContain("ledger rows     1\n");
  expect(stdout).toContain("ship requests   2,");
  expect(stdout).toContain("shipments       1 (T-1000)\n");
  expect(stdout).toContain("mails           1\n");
  expect(stdout).toContain("Charged once, shipped once, mailed once.\n");
});

test("it takes no arguments", async () => {
  await expect(promisify(execFile)(process.execPath, [MAIN, "--once"])).rejects.toMatchObject({ code: 2 });
});
