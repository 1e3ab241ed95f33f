import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { differences } from "./page-blocks.ts";

const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const FIXTURES = fileURLToPath(new URL("../docs/fixtures", import.meta.url));
const PAGES = [
  "README.md",
  "ARCHITECTURE.md",
  "CONTRIBUTING.md",
  ...markdownIn("docs"),
  ...markdownIn("docs/decisions"),
];

test("each block of a guide is a file that tests run, and each such file is on its page", () => {
  const guides = readdirSync(FIXTURES);
  expect(guides.length).toBeGreaterThan(5);
  for (const guide of guides) {
    const page = readFileSync(join(ROOT, "docs", `${guide}.md`), "utf8");
    expect(differences(page, join(FIXTURES, guide)), `docs/${guide}.md`).toEqual([]);
  }
});

test("every link from page to page leads somewhere", () => {
  expect(PAGES.flatMap((page) => deadLinks(join(ROOT, page)))).toEqual([]);
});

test("every guide is in the index", () => {
  const index = readFileSync(join(ROOT, "docs/README.md"), "utf8");
  const pages = markdownIn("docs").map((page) => relative("docs", page));
  expect(pages.filter((page) => page !== "README.md" && !index.includes(`](${page})`))).toEqual([]);
});

test("the rules of pages can fail", () => {
  const folder = mkdtempSync(join(tmpdir(), "cyclone-pages-"));
  try {
    writeFileSync(join(folder, "a.ts"), "a();\n");
    expect(differences("<!-- file: a.ts -->\n```ts\na();\n```\n", folder)).toEqual([]);
    expect(differences("<!-- file: a.ts -->\n```ts\nb();\n```\n", folder)).toEqual([
      "the block of a.ts isn't the file",
    ]);
    expect(differences("```ts\nb();\n```\n", folder)).toEqual(["1 block(s) say no file", "a.ts isn't on the page"]);
    const page = join(folder, "page.md");
    writeFileSync(page, "# One `two`\n\n[a](#one-two) [b](a.ts) [c](#three) [d](b.md) [e](https://example.com)\n");
    expect(deadLinks(page)).toHaveLength(2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function markdownIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `${folder}/${file}`);
}

function deadLinks(page: string): string[] {
  const text = withoutCode(readFileSync(page, "utf8"));
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link = ""]) => link)
    .filter((link) => !/^[a-z]+:/.test(link) && !leadsSomewhere(page, link))
    .map((link) => `${relative(ROOT, page)}: ${link}`);
}

function leadsSomewhere(page: string, link: string): boolean {
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? page : join(dirname(page), path);
  if (!existsSync(target)) return false;
  if (anchor === undefined || !target.endsWith(".md")) return true;
  const headings = withoutCode(readFileSync(target, "utf8")).matchAll(/^#+ (.*)$/gm);
  return [...headings].some(([, heading = ""]) => slug(heading) === anchor);
}

function withoutCode(text: string): string {
  return text.replace(/^```[^]*?^```$/gm, "");
}

/** The anchor that GitHub gives a heading. */
function slug(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replaceAll(" ", "-");
}
