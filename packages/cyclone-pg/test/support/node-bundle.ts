import type { BuildOptions } from "esbuild";

/** Everything in one ES module for Node.js. */
export const NODE_BUNDLE = {
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  logLevel: "error",
  external: ["pg-native"],
  // `pg` is CommonJS and requires Node.js's modules, which an ES module can't by itself.
  banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
} as const satisfies BuildOptions;
