import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import startTestPostgres from "../../packages/cyclone-pg/test/support/global-setup.ts";
import { installPackage, packPackage } from "./packed-package.ts";

declare module "vitest" {
  export interface ProvidedContext {
    packed: PackedPackage;
  }
}

/** The package as a registry would hand it out. */
export interface PackedPackage {
  readonly tarball: string;
  /** A folder outside of the repository in which it is installed, with what it depends on and nothing else. */
  readonly installed: string;
}

/** Packs the package and installs it once for the run, beside the server that the other tests have too. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), "cyclone-packed-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const tarball = packPackage(folder);
    const installed = join(folder, "installed");
    installPackage(tarball, installed);
    project.provide("packed", { tarball, installed });
    const stopPostgres = await startTestPostgres(project);
    return async () => {
      remove();
      await stopPostgres();
    };
  } catch (error) {
    remove();
    throw error;
  }
}
