import { defineConfig } from "vitest/config";

/** The packed package on other runtimes, bundlers and compilers: `npm run test:platforms`. */
export default defineConfig({
  root: import.meta.dirname,
  test: {
    pool: "forks",
    // Most of it waits for leases and for compilers that use one core: two files at a time.
    maxWorkers: 2,
    globalSetup: "support/global-setup.ts",
    include: ["*.test.ts"],
    // A build of Next.js takes half a minute on an idle machine.
    testTimeout: 480_000,
    hookTimeout: 120_000,
    teardownTimeout: 30_000,
    chaiConfig: { truncateThreshold: 2_000 },
  },
});
