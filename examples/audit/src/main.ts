import { fileURLToPath } from "node:url";
import { Display } from "./program/display.ts";
import { runProgram } from "./program/program.ts";
import { HELP, programOptions } from "./program/program-options.ts";
import { Stopped, stopSignals } from "./program/stop-signals.ts";
import { UsageError } from "./program/usage-error.ts";

// `npm start | head`: whoever read is gone. To end at once is as good as any end: what is committed is.
process.stdout.on("error", () => process.exit(1));
process.exitCode = await main(process.argv.slice(2));

async function main(args: readonly string[]): Promise<number> {
  const display = new Display(process.stdout);
  try {
    const options = programOptions(args);
    if (options.kind === "help") {
      process.stdout.write(HELP);
      return 0;
    }
    const stop = stopSignals(() => display.endProgress());
    // dist/main.js stands three folders below the clone's.
    const cloneFolder = fileURLToPath(new URL("../../..", import.meta.url));
    return await runProgram(options, { display, keyboard: process.stdin, stop, cloneFolder });
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`audit: ${error.message}\nTry --help.\n`);
      return 2;
    }
    if (error instanceof Stopped) {
      display.lines(["Stopped in the middle. Start it again, and it goes on where it is now."]);
      return 130;
    }
    process.stderr.write(`audit: ${describe(error)}\n`);
    return 1;
  }
}

/** An error with a code was foreseen, and its message says what to do; for any other the place matters. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return "code" in error ? error.message : (error.stack ?? error.message);
}
