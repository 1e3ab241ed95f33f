import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PackageFolder } from "../../test/support/package-folder.ts";
import { inspectPackage } from "./inspect-package.ts";

describe("inspectPackage", () => {
  test("adds up a package's own files, without nested packages and without following links", async () => {
    using folder = new PackageFolder();
    const manifest = JSON.stringify({ name: "a", version: "1.2.3", license: "MIT" });
    folder
      .file("node_modules/a/package.json", manifest)
      .file("node_modules/a/LICENSE", "x".repeat(10))
      .file("node_modules/a/lib/deep/index.js", "y".repeat(100))
      .file("node_modules/a/test/node_modules/fixture/index.js", "z".repeat(1000))
      .file("node_modules/a/node_modules/b/index.js", "not counted here");
    symlinkSync("index.js", join(folder.path, "node_modules/a/lib/deep/link.js"));
    expect(await inspectPackage(folder.path, "node_modules/a")).toEqual({
      path: "node_modules/a",
      name: "a",
      version: "1.2.3",
      licence: "MIT",
      licenceSource: "manifest",
      licenceFiles: ["LICENSE"],
      copyleft: false,
      files: 4,
      bytes: manifest.length + 1110,
      problem: null,
    });
  });

  test.each([
    ["{", "package.json isn't JSON"],
    ["[]", "package.json isn't an object"],
    ["null", "package.json isn't an object"],
    [JSON.stringify({ version: "1.0.0" }), "package.json has no name"],
    [JSON.stringify({ name: 5, version: null }), "package.json has no name; package.json has no version"],
  ])("reports a manifest that is %s", async (text, problem) => {
    using folder = new PackageFolder();
    folder.file("node_modules/@scope/a/package.json", text);
    const facts = await inspectPackage(folder.path, "node_modules/@scope/a");
    expect(facts).toMatchObject({ name: "@scope/a", problem, files: 1, bytes: text.length });
  });

  test("reports a package that is gone", async () => {
    using folder = new PackageFolder();
    expect(await inspectPackage(folder.path, "node_modules/a")).toMatchObject({
      name: "a",
      licence: null,
      problem: "package.json is gone; the folder is gone",
    });
  });

  test("makes text of the manifest fit for a database and a terminal", async () => {
    using folder = new PackageFolder();
    folder.package("node_modules/a", {
      name: "a\u0000b\u001B[31m\ud800",
      version: "1".repeat(5000),
      license: "M\u0000T",
    });
    const facts = await inspectPackage(folder.path, "node_modules/a");
    expect(facts.name).toBe("a b [31m\uFFFD");
    expect(facts.version).toHaveLength(200);
    expect(facts.licence).toBe("M T");
  });

  test("takes a manifest with a byte order mark", async () => {
    using folder = new PackageFolder();
    folder.file("node_modules/a/package.json", `\uFEFF${JSON.stringify({ name: "a", version: "1.0.0" })}`);
    expect((await inspectPackage(folder.path, "node_modules/a")).problem).toBeNull();
  });
});
