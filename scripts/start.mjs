/** Runs the audit example, the project's demonstration, with the arguments given: `npm start -- --once [folder]`. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./workspaces.mjs";

const MAIN = join(ROOT, "examples/audit/dist/main.js");
if (!existsSync(MAIN)) {
  console.error("The audit example isn't built; run `npm run build` first.");
  process.exit(1);
}

const child = spawn(process.execPath, ["--enable-source-maps", MAIN, ...process.argv.slice(2)], {
  cwd: process.env.INIT_CWD ?? process.cwd(),
  stdio: "inherit",
});
// Ctrl-C reaches the whole foreground group, so the child gets it by itself; a plain kill is passed on.
process.on("SIGINT", () => {});
process.on("SIGTERM", () => child.kill("SIGTERM"));
child.on("error", (error) => {
  console.error(`The audit example couldn't be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => process.exit(signal === null ? (code ?? 1) : 1));
