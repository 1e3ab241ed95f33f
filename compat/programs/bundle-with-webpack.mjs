import { basename, dirname } from "node:path";
import webpack from "webpack";

// Bundles a program with all that it imports into one file: `node bundle-with-webpack.mjs <program> <file to write>`, a CommonJS
// file where that ends in `.cjs`. Prints what webpack has to say, errors and warnings, one per line.
const [, , program = "", target = ""] = process.argv;
const isModule = !target.endsWith(".cjs");

webpack({
  mode: "production",
  target: "node20",
  context: dirname(program),
  entry: program,
  output: { path: dirname(target), filename: basename(target), module: isModule },
  experiments: { outputModule: isModule },
  // An addition to `pg` that nobody has to install.
  externals: { "pg-native": "commonjs pg-native" },
}).run((error, stats) => {
  const { errors = [], warnings = [] } = stats?.toJson({ all: false, errors: true, warnings: true }) ?? {};
  for (const { message } of [...(error ? [error] : []), ...errors, ...warnings])
    console.log(message.replaceAll("\n", " "));
});
