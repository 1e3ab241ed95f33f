export type { EnqueuedRun, ExpectedRun } from "./testing/enqueued.ts";
export { createTestDatabase, type TestDatabase, type TestDrainOptions } from "./testing/test-database.ts";
export {
  createTestTemplate,
  dropTestTemplate,
  type TestTemplate,
  type TestTemplateOptions,
} from "./testing/test-template.ts";
