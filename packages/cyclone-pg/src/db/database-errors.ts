import { ConnectionError } from "../errors/connection-error.ts";

/** The SQLSTATE of a database error, or the code of a network error, if it has one. */
export function errorCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}

const NETWORK_CODES = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENOENT", // the server's Unix socket is away while it restarts
  "ERR_STREAM_DESTROYED",
  "ERR_STREAM_WRITE_AFTER_END",
  "ERR_SOCKET_CLOSED",
]);

// `pg` reports a lost connection as a plain Error without a code.
const LOST_CONNECTION =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout (expired|exceeded)|Query read timeout|This socket has been ended)/;

/** Whether the connection is gone or can't be had: nothing is known of what was under way. */
export function isConnectionFailure(error: unknown): boolean {
  if (error instanceof ConnectionError) return true;
  const code = errorCode(error);
  // 28: the login is refused, as while a password is changed; 53300: too many connections; 25006: read-only since a failover, so that this connection is useless.
  if (code !== undefined)
    return (
      NETWORK_CODES.has(code) ||
      /^(08|28|57P)/.test(code) ||
      code === "53300" ||
      code === "25006" ||
      code === "25P03" ||
      code === "25P04"
    );
  return error instanceof Error && LOST_CONNECTION.test(error.message);
}

/** Whether the server refuses the login: later it may not, but who starts should know. */
export function isLoginRefused(error: unknown): boolean {
  const { cause } = (error ?? {}) as { cause?: unknown };
  return [error, cause].some((one) => errorCode(one)?.startsWith("28") === true);
}

/** Whether the same statement may succeed later: lost connections, deadlocks, serialization, timeouts, lack of resources. */
export function isTransient(error: unknown): boolean {
  return isConnectionFailure(error) || /^(40|53|55P03|57014|58)/.test(errorCode(error) ?? "");
}

/** Whether transactions got into each other's way: serialization failure, deadlock. */
export function isConflict(error: unknown): boolean {
  const code = errorCode(error);
  return code === "40001" || code === "40P01";
}

/** Whether a completionTx was taken away from its handler, which then isn't to blame: no attempt is charged. */
export function isInterruption(error: unknown): boolean {
  return isConnectionFailure(error) || isConflict(error) || isPreparedStatementTrouble(error);
}

/** Whether a named statement isn't known to the server's session, or is known already: a pooler stands between. */
export function isPreparedStatementTrouble(error: unknown): boolean {
  const code = errorCode(error);
  return code === "26000" || code === "42P05";
}

/** Whether Cyclone's tables or its schema don't exist. */
export function isMissingSchema(error: unknown): boolean {
  const code = errorCode(error);
  return code === "42P01" || code === "3F000" || code === "42703" || code === "42704";
}
