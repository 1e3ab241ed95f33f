import { defineConfig } from "vitest/config";

const common = {
  testTimeout: 90_000,
  hookTimeout: 120_000,
  teardownTimeout: 30_000,
  // A list that should be empty is shown, not counted: the message is all that a report of CI has.
  chaiConfig: { truncateThreshold: 2_000 },
};
/** Also those of volume, and the long ones (crash enumeration, large inputs, soaks), which have commands of their own. */
const left = [
  "**/node_modules/**",
  "**/dist/**",
  "packages/*/test/volume/**",
  ...(process.env["CYCLONE_TEST_LONG"] === "1"
    ? []
    : [
        "packages/cyclone-pg/test/crash/enumeration-!(plan).test.ts",
        "packages/*/test/long/**",
        "packages/cyclone-pg/test/soak/**",
      ]),
];

/** Tests that need no server of the run's: they are pure, or start what they need themselves. */
const serverless = [
  "packages/*/src/**/*.test.ts",
  "packages/cyclone-embedded/test/**/*.test.ts",
  "packages/cyclone-pg/test/house-rules/**/*.test.ts",
  "packages/cyclone-pg/test/types/**/*.test.ts",
  "examples/*/src/**/*.test.ts",
  "scripts/**/*.test.ts",
];

/** Tests that kill, stop, cut and measure: what they wait for has limits, so they run after the others, three files at a time. */
const demanding = [
  "packages/cyclone-pg/test/crash/**/*.test.ts",
  "packages/cyclone-pg/test/robustness/**/*.test.ts",
  "packages/cyclone-pg/test/sql/**/*.test.ts",
  "packages/cyclone-pg/test/long/**/*.test.ts",
  "packages/cyclone-pg/test/soak/**/*.test.ts",
  "examples/*/test/**/*.test.ts",
];

const globalSetup = "packages/cyclone-pg/test/support/global-setup.ts";

/** `unit` has no global set-up; `database` and then `faults` share one Postgres for each of them. */
export default defineConfig({
  test: {
    pool: "forks",
    projects: [
      {
        test: {
          name: "unit",
          pool: "forks",
          maxWorkers: 3,
          // They keep no state in modules, which are loaded once per process then instead of once per file.
          isolate: false,
          sequence: { groupOrder: 0 },
          include: serverless,
          exclude: left,
          ...common,
        },
      },
      {
        test: {
          name: "database",
          pool: "forks",
          // Most tests wait for Postgres, for leases or for processes: four files at a time keep two cores busy.
          maxWorkers: 4,
          sequence: { groupOrder: 1 },
          globalSetup,
          include: ["packages/*/test/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: [...left, ...serverless, ...demanding],
          ...common,
        },
      },
      {
        test: {
          name: "faults",
          pool: "forks",
          // Soaks measure rates: one after the other.
          maxWorkers: process.env["CYCLONE_SOAK"] === undefined ? 3 : 1,
          sequence: { groupOrder: 2 },
          globalSetup,
          include: demanding,
          exclude: left,
          ...common,
        },
      },
    ],
  },
});
