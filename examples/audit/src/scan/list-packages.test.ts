import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { countIndependently } from "../../test/support/count-independently.ts";
import { PackageFolder } from "../../test/support/package-folder.ts";
import { listPackages } from "./list-packages.ts";

const CLONE = fileURLToPath(new URL("../../../..", import.meta.url));
const listed = () => listPackages(CLONE).packages.map((path) => realpathSync(join(CLONE, path)));

describe("listPackages", () => {
  test("finds plain, scoped and nested packages, in order", () => {
    using folder = new PackageFolder();
    folder
      .package("node_modules/b")
      .package("node_modules/a")
      .package("node_modules/@scope/c")
      .package("node_modules/b/node_modules/a")
      .package("node_modules/b/node_modules/@scope/d")
      .package("node_modules/b/node_modules/@scope/d/node_modules/e");
    expect(listPackages(folder.path)).toEqual({
      packages: [
        "node_modules/@scope/c",
        "node_modules/a",
        "node_modules/b",
        "node_modules/b/node_modules/@scope/d",
        "node_modules/b/node_modules/@scope/d/node_modules/e",
        "node_modules/b/node_modules/a",
      ],
      unreadable: [],
    });
  });

  test("leaves out manifests inside a package, hidden folders, and folders without a manifest", () => {
    using folder = new PackageFolder();
    folder
      .package("node_modules/a")
      .package("node_modules/a/dist/esm")
      .package("node_modules/a/test/node_modules/fixture")
      .package("node_modules/.cache/x")
      .file("node_modules/.package-lock.json", "{}")
      .file("node_modules/rest/README.md", "left over");
    expect(listPackages(folder.path).packages).toEqual(["node_modules/a"]);
  });

  test("lists a package whose manifest is broken", () => {
    using folder = new PackageFolder();
    folder.file("node_modules/broken/package.json", "{");
    expect(listPackages(folder.path).packages).toEqual(["node_modules/broken"]);
  });

  test("counts a linked workspace once, under its real path, with what is installed in it", () => {
    using folder = new PackageFolder();
    folder.package("packages/mine").package("packages/mine/node_modules/own").package("node_modules/a");
    symlinkSync("../packages/mine", join(folder.path, "node_modules/mine"));
    mkdirSync(join(folder.path, "node_modules/@scope"));
    symlinkSync("../../packages/mine", join(folder.path, "node_modules/@scope/again"));
    expect(listPackages(folder.path).packages).toEqual([
      "node_modules/a",
      "packages/mine",
      "packages/mine/node_modules/own",
    ]);
  });

  test("ends at loops of links, passes over links that lead nowhere, and doesn't count the folder itself", () => {
    using folder = new PackageFolder();
    folder.package("node_modules/a").package("node_modules/b").package(".", { name: "self" });
    symlinkSync("../../node_modules", join(folder.path, "node_modules/a/node_modules"));
    symlinkSync("../b", join(folder.path, "node_modules/b/loop"));
    symlinkSync("nowhere", join(folder.path, "node_modules/gone"));
    symlinkSync("..", join(folder.path, "node_modules/self"));
    expect(listPackages(folder.path).packages).toEqual(["node_modules/a", "node_modules/b"]);
  });

  test("finds what pnpm keeps in its store, each package once", () => {
    using folder = new PackageFolder();
    folder
      .package("node_modules/.pnpm/a@1.0.0/node_modules/a")
      .package("node_modules/.pnpm/b@2.0.0/node_modules/b")
      .package("node_modules/.pnpm/b@3.0.0/node_modules/b");
    symlinkSync(".pnpm/a@1.0.0/node_modules/a", join(folder.path, "node_modules/a"));
    symlinkSync("../../b@2.0.0/node_modules/b", join(folder.path, "node_modules/.pnpm/a@1.0.0/node_modules/b"));
    expect(listPackages(folder.path).packages).toEqual([
      "node_modules/.pnpm/a@1.0.0/node_modules/a",
      "node_modules/.pnpm/b@2.0.0/node_modules/b",
      "node_modules/.pnpm/b@3.0.0/node_modules/b",
    ]);
  });

  test("finds nothing where nothing is installed", () => {
    using folder = new PackageFolder();
    expect(listPackages(folder.path)).toEqual({ packages: [], unreadable: [] });
  });

  test("agrees with another way of counting, on this clone", () => {
    expect(new Set(listed())).toEqual(countIndependently(CLONE));
    expect(listed().length).toBe(new Set(listed()).size);
  });

  test("agrees with npm, which lists the folder itself too", () => {
    const { stdout } = spawnSync("npm", ["ls", "--all", "--parseable"], { cwd: CLONE, encoding: "utf8" });
    const npm = new Set(
      stdout
        .trim()
        .split("\n")
        .map((path) => realpathSync(path)),
    );
    npm.delete(realpathSync(CLONE));
    expect(new Set(listed())).toEqual(npm);
  });

  test("agrees with the lock file, where nothing but optional packages for other platforms isn't installed", () => {
    const { packages } = JSON.parse(readFileSync(join(CLONE, "package-lock.json"), "utf8")) as {
      packages: Record<string, { link?: boolean; optional?: boolean }>;
    };
    const found = new Set(listPackages(CLONE).packages);
    // A link's entry stands beside that of the folder that it leads to.
    const missing = Object.entries(packages).filter(
      ([path, entry]) => path !== "" && !entry.link && !found.delete(path),
    );
    expect(missing.filter(([, { optional }]) => !optional)).toEqual([]);
    expect([...found]).toEqual([]);
  });
});
