import { licenceName } from "./licence-names.ts";

interface Mark {
  readonly licence: string;
  /** A phrase of the licence's text, in lower case and without punctuation. */
  readonly phrase: RegExp;
}

/** Phrases that only the text of one licence has, or its title right at the beginning of a text. */
const MARKS: readonly Mark[] = [
  { licence: "MIT-0", phrase: /\bmit no attribution\b/ },
  { licence: "MIT", phrase: /\bpermission is hereby granted free of charge to any person obtaining a copy\b/ },
  {
    licence: "ISC",
    phrase:
      /\bpermission to use copy modify and( or)? distribute this software for any purpose with or without fee is hereby granted provided\b/,
  },
  {
    licence: "0BSD",
    phrase:
      /\bpermission to use copy modify and( or)? distribute this software for any purpose with or without fee is hereby granted\b/,
  },
  { licence: "Apache-2.0", phrase: /\bapache license version 2\.0\b/ },
  { licence: "BSD", phrase: /\bredistribution and use in source and binary forms\b/ },
  { licence: "AGPL-3.0", phrase: /\bgnu affero general public license version 3\b/ },
  { licence: "LGPL-2.1", phrase: /\bgnu lesser general public license version 2\.1\b/ },
  { licence: "LGPL-3.0", phrase: /\bgnu lesser general public license version 3\b/ },
  { licence: "GPL-2.0", phrase: /\bgnu general public license version 2\b/ },
  { licence: "GPL-3.0", phrase: /\bgnu general public license version 3\b/ },
  { licence: "MPL-2.0", phrase: /\bmozilla public license( version| v\.?) ?2\.0\b/ },
  { licence: "MPL-1.1", phrase: /\bmozilla public license version 1\.1\b/ },
  { licence: "EPL-1.0", phrase: /\beclipse public license v(ersion)? 1\.0\b/ },
  { licence: "EPL-2.0", phrase: /\beclipse public license v(ersion)? 2\.0\b/ },
  { licence: "CDDL-1.0", phrase: /\bcommon development and distribution license cddl version 1\.0\b/ },
  { licence: "CDDL-1.1", phrase: /\bcommon development and distribution license cddl version 1\.1\b/ },
  { licence: "EUPL-1.2", phrase: /\beuropean union public licence v\.? ?1\.2\b/ },
  { licence: "Unlicense", phrase: /\bfree and unencumbered software released into the public domain\b/ },
  { licence: "CC0-1.0", phrase: /\bcc0 1\.0 universal\b/ },
  { licence: "CC-BY-4.0", phrase: /\bcreative commons attribution 4\.0 international\b/ },
  { licence: "CC-BY-SA-4.0", phrase: /\bcreative commons attribution sharealike 4\.0 international\b/ },
  { licence: "BlueOak-1.0.0", phrase: /\bblue oak model license( version)? 1\.0\.0\b/ },
  { licence: "BSL-1.0", phrase: /\bboost software license version 1\.0\b/ },
  {
    licence: "Zlib",
    phrase: /\bthis software is provided as is without any express or implied warranty in no event\b/,
  },
  { licence: "WTFPL", phrase: /\bdo what the fuck you want to public license\b/ },
  { licence: "Artistic-2.0", phrase: /\bthe artistic license 2\.0\b/ },
];

/** What a text says that only names a licence. */
const MENTION =
  /\b(?:licensed|released|distributed|available) under (?:the )?(?:terms of the )?([a-z0-9. -]{2,40}?) licen[cs]e\b/;
const TITLE = /^(?:the )?(mit|isc|bsd 2 clause|bsd 3 clause|apache 2\.0) licen[cs]e\b/;

/**
 * Recognises the licence that a text is or, failing that, names. If it holds several, the first one counts: files that bundle
 * the notices of other packages put their own licence first.
 *
 * @returns an SPDX id, undefined if nothing is recognised
 */
export function recogniseLicence(text: string): string | undefined {
  const plain = text
    .slice(0, 100_000)
    .toLowerCase()
    .replaceAll(/[^a-z0-9.]+/g, " ")
    .replaceAll(/\.(?=\s|$)/g, "")
    .trim();
  let first: { licence: string; at: number } | undefined;
  for (const { licence, phrase } of MARKS) {
    const at = plain.search(phrase);
    if (at >= 0 && (first === undefined || at < first.at)) first = { licence, at };
  }
  if (first?.licence === "BSD") return bsdVariant(plain.slice(first.at, first.at + 2_000));
  if (first) return licenceName(first.licence);
  const named = TITLE.exec(plain)?.[1] ?? MENTION.exec(plain)?.[1];
  return named === undefined ? undefined : namedLicence(named);
}

function bsdVariant(text: string): string {
  if (/\ball advertising materials mentioning\b/.test(text)) return "BSD-4-Clause";
  return /\bneither the names? of\b|\bmay not be used to endorse\b/.test(text) ? "BSD-3-Clause" : "BSD-2-Clause";
}

/** Takes the name in a sentence only if it is a licence that is known, for any word would do as an id. */
function namedLicence(name: string): string | undefined {
  const spelled = licenceName(name.replace(/^bsd (\d) clause$/, "bsd $1-clause"));
  return spelled !== undefined && spelled !== name ? spelled : undefined;
}
