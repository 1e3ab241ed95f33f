import { spawnSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, inject, it } from "vitest";
import { useTestDatabase } from "../packages/cyclone-pg/test/support/test-database.ts";
import { expectSmoke } from "./support/run-smoke.ts";
import { bun, deno, nodeOf } from "./support/runtimes.ts";

const database = useTestDatabase();
const { installed } = inject("packed");
const path = join(installed, "smoke.mjs");
const NODES = [20, 22, 24, 26];

beforeAll(() => copyFileSync(join(import.meta.dirname, "programs/smoke.mjs"), path));

it.each([
  ["Node.js 20 runs the smoke program from the installed package", () => nodeOf(20)],
  ["Node.js 22 runs the smoke program from the installed package", () => nodeOf(22)],
  ["Node.js 24 runs the smoke program from the installed package", () => nodeOf(24)],
  ["Node.js 26 runs the smoke program from the installed package", () => nodeOf(26)],
  ["Bun runs the smoke program from the installed package", bun],
  ["Deno runs the smoke program from the installed package", deno],
])("%s", async (_title, find) => {
  const runtime = find();
  const schema = `on_${runtime.version.replaceAll(/\W/g, "_")}`;
  await expectSmoke(database, { runtime, path, cwd: installed, schema });
});

it("each Node.js requires every entry point from CommonJS, without a warning", () => {
  const program = `for (const entry of ["", "/orm", "/otel", "/testing"])
    console.log(Object.values(require("cyclone-pg" + entry)).every((exported) => exported !== undefined));`;
  for (const major of NODES) {
    const [node] = nodeOf(major).command;
    const ran = spawnSync(node, ["--input-type=commonjs", "-e", program], { cwd: installed, encoding: "utf8" });
    expect({ major, stdout: ran.stdout, stderr: ran.stderr }).toEqual({
      major,
      stdout: "true\n".repeat(4),
      stderr: "",
    });
  }
});
