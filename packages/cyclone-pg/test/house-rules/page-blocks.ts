import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** A block of code of a page that says which file it is: `<!-- file: worker.ts -->` before it. */
export interface PageBlock {
  readonly file: string;
  readonly code: string;
}

export function blocksOf(page: string): PageBlock[] {
  return [...page.matchAll(/<!-- file: ([\w.-]+) -->\n```(?:ts|sql)\n(.*?)```/gs)].map(([, file = "", code = ""]) => ({
    file,
    code,
  }));
}

/**
 * Where a page and a folder differ: each block of TypeScript or SQL on the page has to be a file there, and each file a block.
 * @param published how a file looks on the page
 */
export function differences(page: string, folder: string, published = (text: string): string => text): string[] {
  const blocks = blocksOf(page);
  const files = readdirSync(folder);
  const fences = [...page.matchAll(/^```(?:ts|sql)$/gm)].length;
  return [
    ...(fences === blocks.length ? [] : [`${fences - blocks.length} block(s) say no file`]),
    ...blocks.filter(({ file }) => !files.includes(file)).map(({ file }) => `${file} isn't in the folder`),
    ...files.filter((file) => !blocks.some((block) => block.file === file)).map((file) => `${file} isn't on the page`),
    ...blocks
      .filter(({ file, code }) => files.includes(file) && code !== published(readFileSync(join(folder, file), "utf8")))
      .map(({ file }) => `the block of ${file} isn't the file`),
  ];
}
