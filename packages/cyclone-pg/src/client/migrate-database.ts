import { connectionErrorOf } from "../db/connection-error-of.ts";
import { newClient } from "../db/connection-source.ts";
import { endWithin } from "../db/session.ts";
import { migrate } from "../migrations/migrate.ts";
import type { ResolvedClientOptions } from "./options.ts";

/** Migrates on a connection of its own. @throws ConnectionError (`CYCLONE_CONNECTION`) if there is none, or its role may not */
export async function migrateDatabase(
  { source: { config }, schema }: Pick<ResolvedClientOptions, "source" | "schema">,
  bucketCount: number | undefined,
): Promise<void> {
  const session = newClient(config, "cyclone migrate");
  try {
    await session.connect();
    await migrate(session, { schema, bucketCount });
  } catch (error) {
    throw connectionErrorOf(error, config);
  } finally {
    await endWithin(session, 1_000);
  }
}
