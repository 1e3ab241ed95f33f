import { resolve } from "node:path";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import type { GuardianOrder } from "./guardian/guardian-messages.ts";
import type { EmbeddedPostgresOptions } from "./start-embedded-postgres.ts";

const OPTIONS = ["dataDir", "port", "durable", "settings", "onProgress"];
/** Settings that this package decides itself, and what to use instead. */
const OURS: Readonly<Record<string, string>> = {
  port: "use the option `port`",
  listen_addresses: "the server is for this machine only",
  unix_socket_directories: "the server is reached by TCP",
  data_directory: "use the option `dataDir`",
  log_destination: "the log is in `logFile`",
  logging_collector: "the log is in `logFile`",
};

/** Checks the options and fills in the defaults. @throws EmbeddedPostgresError for an option that can't be meant */
export function resolveOrder(options: EmbeddedPostgresOptions): GuardianOrder {
  for (const name of Object.keys(options)) {
    if (!OPTIONS.includes(name))
      throw new EmbeddedPostgresError(`Unknown option \`${name}\`; there are ${OPTIONS.join(", ")}.`);
  }
  const { dataDir, port, durable, settings = {} } = options;
  if (dataDir !== undefined && dataDir.trim() === "") throw new EmbeddedPostgresError("`dataDir` is empty.");
  if (port !== undefined && !(Number.isInteger(port) && port > 0 && port < 65_536)) {
    throw new EmbeddedPostgresError(`\`port\` must be an integer from 1 to 65535, not ${String(port)}.`);
  }
  for (const [name, value] of Object.entries(settings)) {
    const ours = OURS[name.toLowerCase()];
    if (ours !== undefined) throw new EmbeddedPostgresError(`The setting \`${name}\` can't be given: ${ours}.`);
    if (!/^[a-z_][a-z0-9_.]*$/i.test(name)) throw new EmbeddedPostgresError(`\`${name}\` isn't the name of a setting.`);
    if (typeof value !== "string") throw new EmbeddedPostgresError(`The setting \`${name}\` must be a string.`);
  }
  return {
    dataDir: dataDir === undefined ? null : resolve(dataDir),
    port: port ?? null,
    durable: durable ?? dataDir !== undefined,
    settings,
  };
}
