/**
 * The "deadlock detected" lines of a server log whose session wasn't a test that stages one: such a test's
 * `application_name` begins with `staged-deadlock`.
 */
export function unexpectedDeadlocks(log: string): string[] {
  return log.split("\n").filter((line) => line.includes("deadlock detected") && !line.includes("app=staged-deadlock"));
}
