import type { Pool, PoolConfig } from "pg";
import pg from "pg";
import { InvalidOptionError } from "../errors/invalid-option-error.ts";

/** Where connections come from: a configuration, and the user's Pool if that is what was given. */
export interface ConnectionSource {
  /** For dedicated connections: claiming, completing, listening, renewing. */
  readonly config: PoolConfig;
  /** For connections that are borrowed; not ours to end. */
  readonly userPool: Pool | undefined;
}

const CONNECT_TIMEOUT_MS = 10_000;

/** Reads the option `connection`. @throws InvalidOptionError (`CYCLONE_INVALID_OPTION`) */
export function connectionSource(connection: string | PoolConfig | Pool, option = "connection"): ConnectionSource {
  if (typeof connection === "string") {
    checkUrl(connection, option);
    return { config: { connectionString: connection }, userPool: undefined };
  }
  if (typeof connection !== "object" || connection === null) {
    throw new InvalidOptionError(
      option,
      `${option} must be a URL such as "postgres://user@host/database", the options of \`pg\`, or a \`pg\` Pool`,
    );
  }
  if (isPool(connection)) return { config: poolOptions(connection), userPool: connection };
  return { config: connection, userPool: undefined };
}

/** A new, unconnected client that can't take the process down: its `error` events always have a listener. */
export function newClient(config: PoolConfig, applicationName: string): pg.Client {
  const client = new pg.Client({
    application_name: applicationName,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    ...config,
  });
  client.on("error", () => undefined); // whoever uses the connection sees the failure at its query
  return client;
}

function checkUrl(text: string, option: string): void {
  if (!/^(postgres|postgresql|socket|unix):/i.test(text) && !text.startsWith("/")) {
    throw new InvalidOptionError(
      option,
      `${option} must be a URL such as "postgres://user@host/database"; an empty or other text isn't one: is the environment variable set?`,
    );
  }
}

function isPool(value: object): value is Pool {
  return (
    typeof (value as Pool).connect === "function" &&
    typeof (value as Pool).query === "function" &&
    "totalCount" in value
  );
}

function poolOptions(pool: Pool): PoolConfig {
  // A Pool keeps the password out of its enumerable options. What concerns the pool, not its connections, stays with it.
  const { options } = pool;
  const config: PoolConfig = { ...options };
  for (const name of ["Client", "Promise", "log", "verify", "onConnect", "max", "min", "types"])
    delete (config as Record<string, unknown>)[name];
  if (options.password !== undefined) config.password = options.password;
  return config;
}
