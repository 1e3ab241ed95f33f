/** The server couldn't be found, started or stopped. The message says what to do next. */
export class EmbeddedPostgresError extends Error {
  /** The name of the class. */
  override readonly name = "EmbeddedPostgresError";
  /** For programs; the same for all reasons. */
  readonly code = "CYCLONE_EMBEDDED_POSTGRES";
  /** The message without the log. */
  readonly headline: string;
  /** The last lines of the server's own log, where there is one. They are part of the message too. */
  readonly log: string | undefined;

  constructor(headline: string, log?: string) {
    super(log ? `${headline}\n--- the server's log ends with ---\n${log}` : headline);
    this.headline = headline;
    this.log = log;
  }
}
