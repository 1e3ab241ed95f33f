/** How SPDX writes the licences that turn up most in npm packages. An id that isn't here stays as it is written. */
const SPDX_IDS = `
  0BSD AFL-2.1 AFL-3.0 APSL-2.0 Apache-1.1 Apache-2.0 Artistic-1.0 Artistic-2.0 BlueOak-1.0.0 BSD BSD-1-Clause BSD-2-Clause
  BSD-3-Clause BSD-3-Clause-Clear BSD-4-Clause BSL-1.0 BUSL-1.1 CC-BY-3.0 CC-BY-4.0 CC-BY-SA-3.0 CC-BY-SA-4.0 CC0-1.0
  CDDL-1.0 CDDL-1.1 CPAL-1.0 CPL-1.0 Elastic-2.0 EPL-1.0 EPL-2.0 EUPL-1.1 EUPL-1.2 HPND ISC MIT MIT-0 MPL-1.1 MPL-2.0
  MS-PL MS-RL NCSA OFL-1.1 OSL-3.0 PostgreSQL PSF-2.0 Python-2.0 SSPL-1.0 Unicode-3.0 Unicode-DFS-2016 Unlicense
  UNLICENSED UPL-1.0 W3C WTFPL X11 Zlib ZPL-2.1`
  .trim()
  .split(/\s+/);

/** Other spellings that manifests have for them. */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  "Apache-2.0": ["apache", "apache 2", "apache 2.0", "apache2", "apache v2", "apache v2.0", "apache license 2.0"],
  "Artistic-2.0": ["artistic 2.0", "artistic license 2.0"],
  BSD: ["bsd license", "bsd licence", "bsd-style"],
  "BSD-2-Clause": ["bsd-2", "bsd 2", "bsd 2-clause", "2-clause bsd", "simplified bsd", "freebsd"],
  "BSD-3-Clause": ["bsd-3", "bsd 3", "bsd 3-clause", "3-clause bsd", "new bsd", "new bsd license", "modified bsd"],
  "CC0-1.0": ["cc0", "cc0 1.0", "creative commons zero"],
  ISC: ["isc license"],
  MIT: ["mit license", "the mit license", "mit licence", "mit-license", "mit/x11", "x11/mit", "expat"],
  "MPL-2.0": ["mpl", "mpl 2", "mpl 2.0", "mplv2", "mplv2.0", "mozilla public license 2.0"],
  "Public-Domain": ["public domain", "publicdomain"],
  Unlicense: ["the unlicense", "unlicence"],
  WTFPL: ["wtfpl 2.0", "wtfpl-2.0"],
};

const CANONICAL: ReadonlyMap<string, string> = new Map([
  ...SPDX_IDS.map((id) => [id.toLowerCase(), id] as const),
  ...Object.entries(SPELLINGS).flatMap(([id, others]) => others.map((other) => [other, id] as const)),
]);

const GNU = /^(?:gnu )?([al]?gpl)[- ]?v?([1-3])(?:\.([01]))?(\+|-or-later| or later|-only)?$/;
const ID = /^[a-z0-9][a-z0-9.:-]*\+?$/i;

/**
 * The one name of a licence: the SPDX id for what is known in this or that spelling, another well-formed id as it is.
 * The GNU family always says `-only` or `-or-later`, for the bare `GPL-2.0` is the same licence as `GPL-2.0-only`.
 *
 * @returns undefined for what can't be an id, such as a sentence
 */
export function licenceName(text: string): string | undefined {
  const spelling = text
    .toLowerCase()
    .replace(/,? version /, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  const known = CANONICAL.get(spelling);
  if (known !== undefined) return known;
  const gnu = GNU.exec(spelling);
  if (gnu) {
    const [, family = "", major = "", minor = "0", later = ""] = gnu;
    return `${family.toUpperCase()}-${major}.${minor}-${/\+|later/.test(later) ? "or-later" : "only"}`;
  }
  return ID.test(text) ? text : undefined;
}
