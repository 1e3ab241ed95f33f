import { defineConfig } from "vitest/config";

/** Tests that load millions of rows, or run for minutes: `npm run test:volume`. */
export default defineConfig({
  test: {
    pool: "forks",
    fileParallelism: false,
    globalSetup: "packages/cyclone-pg/test/support/global-setup.ts",
    include: ["packages/*/test/volume/**/*.test.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    teardownTimeout: 60_000,
  },
});
