import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A folder made for one test, with files in it. */
export class PackageFolder implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "cyclone-audit-")));

  /** Writes a file, with the folders above it. */
  file(path: string, content: string): this {
    const whole = join(this.path, path);
    mkdirSync(dirname(whole), { recursive: true });
    writeFileSync(whole, content);
    return this;
  }

  /** Installs a package: its manifest at `path`, the name taken from there unless it's given. */
  package(path: string, manifest: Readonly<Record<string, unknown>> = {}): this {
    const name = /(?:^|node_modules\/)((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1] ?? path;
    return this.file(`${path}/package.json`, JSON.stringify({ name, version: "1.0.0", ...manifest }));
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}
