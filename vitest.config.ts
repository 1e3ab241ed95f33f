import { defineConfig } from "vitest/config";

const limits = { testTimeout: 30_000, hookTimeout: 60_000, teardownTimeout: 30_000 };

/**
 * Two projects, so that the pure tests beside the sources run without a server: `unit` has no global set-up,
 * `database` starts one Postgres for the whole run.
 */
export default defineConfig({
  test: {
    pool: "forks",
    reporters: ["default"],
    projects: [
      {
        test: {
          name: "unit",
          pool: "forks",
          include: ["packages/*/src/**/*.test.ts", "scripts/**/*.test.ts"],
          ...limits,
        },
      },
      {
        test: {
          name: "database",
          globalSetup: "packages/cyclone-pg/test/support/global-setup.ts",
          pool: "forks",
          include: ["packages/*/test/**/*.test.ts", "examples/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: ["**/node_modules/**", "**/dist/**"],
          ...limits,
        },
      },
    ],
  },
});
