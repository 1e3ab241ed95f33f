/**
 * For the tests of a program that uses Cyclone: a database per test, and time that passes when told.
 *
 * @module cyclone-pg/testing
 */
export type { EnqueuedRun, ExpectedRun } from "./testing/enqueued.ts";
export { createTestDatabase, type TestDatabase, type TestDrainOptions } from "./testing/test-database.ts";
export {
  createTestTemplate,
  dropTestTemplate,
  type TestTemplate,
  type TestTemplateOptions,
} from "./testing/test-template.ts";
