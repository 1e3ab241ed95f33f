import { describe, expect, test } from "vitest";
import { recogniseLicence } from "./licence-text.ts";

const MIT = `Copyright (c) 2020 Somebody

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal`;
const BSD =
  "Redistribution and use in source and binary forms, with or without\nmodification, are permitted provided that";

describe("recogniseLicence", () => {
  test.each([
    ["MIT", MIT],
    [
      "ISC",
      "Permission to use, copy, modify, and/or distribute this software for any\npurpose with or without fee is hereby granted, provided that the above copyright notice",
    ],
    [
      "0BSD",
      "Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted.",
    ],
    [
      "Apache-2.0",
      "                                 Apache License\n                           Version 2.0, January 2004",
    ],
    ["BSD-2-Clause", `${BSD} the following conditions are met:`],
    ["BSD-3-Clause", `${BSD} … * Neither the name of the copyright holder nor the names of its contributors`],
    ["BSD-4-Clause", `${BSD} … 3. All advertising materials mentioning features … Neither the name of`],
    ["GPL-3.0-only", "                    GNU GENERAL PUBLIC LICENSE\n                       Version 3, 29 June 2007"],
    [
      "LGPL-3.0-only",
      "GNU LESSER GENERAL PUBLIC LICENSE\nVersion 3, 29 June 2007 … the GNU General Public License version 3",
    ],
    ["AGPL-3.0-only", "GNU AFFERO GENERAL PUBLIC LICENSE\n Version 3, 19 November 2007"],
    ["MPL-2.0", "Mozilla Public License Version 2.0\n=================================="],
    ["Unlicense", "This is free and unencumbered software released into the public domain."],
    ["CC0-1.0", "Creative Commons Legal Code\n\nCC0 1.0 Universal"],
    ["MIT", "# MIT License\n\nCopyright 2024"],
    ["MIT", "This project is licensed under the terms of the MIT license."],
    ["Apache-2.0", "Licensed under the Apache 2.0 License"],
  ])("%s", (licence, text) => {
    expect(recogniseLicence(text)).toBe(licence);
  });

  test("takes the first of several: bundled notices come after a package's own licence", () => {
    expect(recogniseLicence(`${MIT}\n\nBundled:\nApache License\nVersion 2.0`)).toBe("MIT");
    expect(recogniseLicence(`Apache License\nVersion 2.0\n\nBundled:\n${MIT}`)).toBe("Apache-2.0");
  });

  test.each(["", "All rights reserved.", "Licensed under the moon license", "GNU"])("doesn't guess: %j", (text) => {
    expect(recogniseLicence(text)).toBeUndefined();
  });
});
