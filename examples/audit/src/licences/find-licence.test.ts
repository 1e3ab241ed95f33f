import { describe, expect, test } from "vitest";
import { PackageFolder } from "../../test/support/package-folder.ts";
import { parseManifest } from "../scan/read-manifest.ts";
import { findLicence } from "./find-licence.ts";

const ISC =
  "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted, provided";

async function find(manifest: unknown, files: Readonly<Record<string, string>> = {}) {
  using folder = new PackageFolder();
  for (const [name, text] of Object.entries(files)) folder.file(name, text);
  return await findLicence(folder.path, parseManifest(JSON.stringify(manifest)).manifest);
}

describe("findLicence", () => {
  test.each([
    ["a string", { license: "Apache 2.0" }, "Apache-2.0"],
    ["an object", { license: { type: "MIT", url: "https://example.com" } }, "MIT"],
    ["an object with a name", { license: { name: "ISC" } }, "ISC"],
    ["a list", { license: ["MIT", "Apache-2.0"] }, "Apache-2.0 OR MIT"],
    ["the old list", { licenses: [{ type: "GPL-2.0" }, { type: "Apache 2.0" }] }, "Apache-2.0 OR GPL-2.0-only"],
    ["the old field as a string", { licenses: "BSD" }, "BSD"],
    ["both fields: the newer one", { license: "MIT", licenses: ["GPL-2.0"] }, "MIT"],
    ["the British spelling", { licence: "MIT" }, "MIT"],
    ["its own words", { license: "see README" }, "see README"],
  ])("reads %s of the manifest", async (_form, manifest, licence) => {
    expect(await find(manifest)).toEqual({ licence, source: "manifest", copyleft: false, files: [] });
  });

  test("says that UNLICENSED is no licence", async () => {
    expect(await find({ license: "UNLICENSED" }, { LICENSE: ISC })).toMatchObject({
      licence: null,
      source: "manifest",
    });
  });

  test("reads the licence files when the manifest says nothing, or has nonsense", async () => {
    expect(await find({}, { "LICENCE.md": ISC, "index.js": "" })).toEqual({
      licence: "ISC",
      source: "file",
      copyleft: false,
      files: ["LICENCE.md"],
    });
    expect(await find({ license: 3 }, { COPYING: "GNU GENERAL PUBLIC LICENSE\nVersion 3" })).toMatchObject({
      licence: "GPL-3.0-only",
      copyleft: true,
    });
    expect(await find({ license: "" }, { LICENSE: "Ask us." })).toMatchObject({
      licence: "see LICENSE",
      source: "file",
    });
  });

  test("reads the file that the manifest points to, but none outside the package", async () => {
    expect(await find({ license: "SEE LICENSE IN TERMS.txt" }, { "TERMS.txt": ISC })).toMatchObject({
      licence: "ISC",
      source: "file",
    });
    expect(await find({ license: "SEE LICENSE IN ../../../etc/passwd" })).toMatchObject({
      licence: "SEE LICENSE IN ../../../etc/passwd",
      source: "manifest",
    });
  });

  test("suspects copyleft in words that are no expression", async () => {
    expect(await find({ license: "GNU GPL, any version" })).toMatchObject({ copyleft: true });
    expect(await find({ license: "ask the author" })).toMatchObject({ copyleft: false });
  });

  test("finds nothing where nothing is said", async () => {
    expect(await find({}, { "license.js": "module.exports = 1" })).toEqual({
      licence: null,
      source: "none",
      copyleft: false,
      files: [],
    });
  });
});
