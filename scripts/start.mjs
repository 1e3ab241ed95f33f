/**
 * Runs the audit example, the project's demonstration: `npm start -- --once [folder]`. In this process and not in a
 * child: whatever ends it, a `kill -9` too, ends the whole program.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "./workspaces.mjs";

const MAIN = join(ROOT, "examples/audit/dist/main.js");
if (!existsSync(MAIN)) {
  console.error("The audit example isn't built; run `npm run build` first.");
  process.exit(1);
}

process.setSourceMapsEnabled(true);
// npm changes into the repository; a folder among the arguments is meant from where the user stands.
if (process.env.INIT_CWD) process.chdir(process.env.INIT_CWD);
process.argv[1] = MAIN;
await import(pathToFileURL(MAIN).href);
