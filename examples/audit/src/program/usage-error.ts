/** The program was called wrongly: the message is for whoever typed it, and the exit code is 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}
