import { type ChildProcess, spawn } from "node:child_process";

/** The operating system's account that a program runs under; none: this process's own. */
export interface Account {
  readonly uid?: number;
  readonly gid?: number;
}

// The shell ends with the program; and it ends the program when this process is gone, however that ended, since its standard
// input is closed then. (Programs in a shell's background ignore SIGINT and SIGQUIT, unless they have handlers of their own.)
const GUARD =
  'log=$1; signal=$2; shift 2; exec 3<&0; "$@" >>"$log" 2>&1 & program=$!; (cat <&3 >/dev/null; kill -$signal $program 2>/dev/null) & wait $program';

/**
 * Runs a server in the background, which doesn't outlive this process. Ending the child's standard input ends it, by `signal`.
 *
 * @param log where its output is appended; the account must be able to write there
 */
export function spawnGuarded(
  command: readonly string[],
  options: { readonly log: string; readonly account: Account; readonly signal: "QUIT" | "TERM" },
): ChildProcess {
  const { log, account, signal } = options;
  return spawn("sh", ["-c", GUARD, "sh", log, signal, ...command], {
    ...account,
    cwd: "/",
    stdio: ["pipe", "ignore", "ignore"],
  });
}
