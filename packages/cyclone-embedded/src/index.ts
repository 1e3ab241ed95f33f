/**
 * A real Postgres server out of npm, for trials and tests.
 *
 * @module cyclone-embedded
 */
export { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
export {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  startEmbeddedPostgres,
} from "./start-embedded-postgres.ts";
