/** Where the library and handlers write to. `console` and pino's child loggers (fields second) can be wrapped in a few lines. */
export interface Logger {
  /** What helps to follow the engine. */
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** What happens in the ordinary course: reclaims, for example. */
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** What should be looked at if it goes on: each failed attempt, a database that is away. */
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** What needs a person: a discarded step, a statement that fails for good. */
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** The logger, which the engine may call anywhere: what it throws goes nowhere, for there is nobody to tell. */
export function quietly(log: Logger): Logger {
  const guarded =
    (level: keyof Logger): Logger[typeof level] =>
    (message, fields) => {
      try {
        log[level](message, fields);
      } catch {
        // As above.
      }
    };
  return { debug: guarded("debug"), info: guarded("info"), warn: guarded("warn"), error: guarded("error") };
}
