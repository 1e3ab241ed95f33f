import { describe, expect, test } from "vitest";
import { isCopyleft } from "./copyleft.ts";
import { formatLicence, parseLicence } from "./licence-expression.ts";

const normalised = (text: string) => {
  const expression = parseLicence(text);
  return expression && formatLicence(expression);
};
const copyleft = (text: string) => {
  const expression = parseLicence(text);
  return expression && isCopyleft(expression);
};

describe("parseLicence and formatLicence", () => {
  test.each([
    ["MIT", "MIT"],
    ["mit", "MIT"],
    [" (MIT) ", "MIT"],
    ["Apache 2.0", "Apache-2.0"],
    ["Apache License, Version 2.0", "Apache-2.0"],
    ["MIT/X11", "MIT"],
    ["MIT/Apache-2.0", "Apache-2.0 OR MIT"],
    ["(MIT OR Apache-2.0)", "Apache-2.0 OR MIT"],
    ["(Apache-2.0 or mit)", "Apache-2.0 OR MIT"],
    ["MIT OR MIT", "MIT"],
    ["(MIT AND (ISC OR BSD-3-Clause))", "(BSD-3-Clause OR ISC) AND MIT"],
    ["MIT OR ISC AND Zlib", "ISC AND Zlib OR MIT"],
    ["((MIT))", "MIT"],
    ["GPL-2.0", "GPL-2.0-only"],
    ["GPL-2.0+", "GPL-2.0-or-later"],
    ["GPLv3", "GPL-3.0-only"],
    ["LGPL-3.0-or-later", "LGPL-3.0-or-later"],
    ["GPL-2.0 WITH Classpath-exception-2.0", "GPL-2.0-only WITH Classpath-exception-2.0"],
    ["Something-1.0", "Something-1.0"],
    ["LicenseRef-Own", "LicenseRef-Own"],
    ["Public Domain", "Public-Domain"],
  ])("%s is %s", (text, expected) => {
    expect(normalised(text)).toBe(expected);
  });

  test.each([
    "",
    "()",
    "(MIT",
    "MIT)",
    "MIT OR",
    "AND MIT",
    "see README",
    "GPL WITH",
    "MIT ISC",
    "all rights reserved",
  ])("%j is no expression", (text) => {
    expect(parseLicence(text)).toBeUndefined();
  });
});

describe("isCopyleft", () => {
  test.each([
    ["MIT", false],
    ["GPL-3.0", true],
    ["AGPL-3.0-only", true],
    ["LGPL-2.1", true],
    ["MPL-2.0", true],
    ["EPL-2.0", true],
    ["CDDL-1.0", true],
    ["EUPL-1.2", true],
    ["CC-BY-SA-4.0", true],
    ["CC-BY-4.0", false],
    ["GPL", true],
    ["MIT OR GPL-3.0", false],
    ["GPL-2.0 OR GPL-3.0", true],
    ["MIT AND MPL-2.0", true],
    ["(MIT OR GPL-2.0) AND ISC", false],
    ["GPL-2.0 WITH Classpath-exception-2.0", true],
  ])("%s: %s", (text, expected) => {
    expect(copyleft(text)).toBe(expected);
  });
});
