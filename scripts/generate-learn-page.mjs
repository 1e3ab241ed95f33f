/** Writes the generated parts of docs/learn.md: the state diagrams and the statements, as the sources have them. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { ROOT } from "./workspaces.mjs";

const PAGE = join(ROOT, "docs/learn.md");

// Node.js 20 can't run TypeScript, so what the page is made by is bundled first.
const bundle = await build({
  absWorkingDir: ROOT,
  entryPoints: [join(ROOT, "packages/cyclone-pg/test/docs/learn-page.ts")],
  bundle: true,
  write: false,
  platform: "node",
  format: "esm",
  target: "node20",
  logLevel: "warning",
});
const source = Buffer.from(bundle.outputFiles[0]?.text ?? "").toString("base64");
const { withGeneratedParts } = await import(`data:text/javascript;base64,${source}`);
const before = readFileSync(PAGE, "utf8");
const after = withGeneratedParts(before, join(ROOT, "packages/cyclone-pg/src"));
if (after !== before) writeFileSync(PAGE, after);
