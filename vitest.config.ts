import { defineConfig } from "vitest/config";

const limits = { testTimeout: 90_000, hookTimeout: 120_000, teardownTimeout: 30_000 };
/** Also those of volume, which have a configuration and a command of their own. */
const left = ["**/node_modules/**", "**/dist/**", "packages/*/test/volume/**"];

/** Tests that need no server of the run's: they are pure, or start what they need themselves. */
const serverless = [
  "packages/*/src/**/*.test.ts",
  "packages/cyclone-embedded/test/**/*.test.ts",
  "packages/cyclone-pg/test/house-rules/**/*.test.ts",
  "packages/cyclone-pg/test/types/**/*.test.ts",
  "examples/*/src/**/*.test.ts",
  "scripts/**/*.test.ts",
];

/** Two projects: `unit` has no global set-up, `database` starts one Postgres for the whole run. */
export default defineConfig({
  test: {
    pool: "forks",
    // Most tests wait for Postgres, for leases or for processes: three files at a time keep two cores busy.
    maxWorkers: 3,
    projects: [
      { test: { name: "unit", pool: "forks", include: serverless, exclude: left, ...limits } },
      {
        test: {
          name: "database",
          pool: "forks",
          globalSetup: "packages/cyclone-pg/test/support/global-setup.ts",
          include: ["packages/*/test/**/*.test.ts", "examples/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: [...left, ...serverless],
          ...limits,
        },
      },
    ],
  },
});
