import pg from "pg";
import { onTestFinished } from "vitest";
import type { TestDatabase } from "./test-database.ts";

/**
 * A Pool that notes the engine's statements that are sent through it on their own, by name; it ends with the test. Not the notifications,
 * which follow some time later, several in one.
 */
export function notingPool(database: Pick<TestDatabase, "url">): { readonly pool: pg.Pool; readonly names: string[] } {
  const names: string[] = [];
  class NotingPool extends pg.Pool {
    // The driver's overloads don't matter here: whatever comes is handed on.
    override query(...args: unknown[]): never {
      const [, name] = /^\/\* cyclone:(\w+) \*\//.exec((args[0] as { text?: string }).text ?? "") ?? [];
      if (name !== undefined && name !== "notify") names.push(name);
      return super.query(...(args as [string])) as never;
    }
  }
  const pool = new NotingPool({ connectionString: database.url, max: 2 });
  onTestFinished(() => pool.end());
  return { pool, names };
}
