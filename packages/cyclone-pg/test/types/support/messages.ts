const MISTAKE = /^\s*\/\/ mistake: (.*)$/;
const MESSAGE = /^[^(]+\((\d+),\d+\): error (TS\d+: .*)$/;

/** TypeScript before 7 lists the members of a union as it came across them, which changes with unrelated declarations. */
const UNION = /"[^"]*"(?: \| "[^"]*")+/g;

/**
 * What a compiler says about each mistake of a program: a heading per `// mistake:` comment, in the order of
 * the program, and the messages about the statement below it. A message without a mistake above it comes under "unexpected".
 */
export function messagesByClaim(program: string, output: string): string {
  const claims = program.split("\n").flatMap((line, index) => {
    const claim = MISTAKE.exec(line)?.[1];
    return claim === undefined ? [] : [{ line: index + 1, claim, messages: [] as string[] }];
  });
  const unexpected: string[] = [];
  let current: string[] = unexpected;
  for (const line of output.replace(UNION, sortedUnion).split("\n")) {
    const match = MESSAGE.exec(line);
    if (match !== null) {
      current = claims.findLast((claim) => claim.line < Number(match[1]))?.messages ?? unexpected;
      current.push(match[2] ?? "");
    } else if (line.trim() !== "") {
      current.push(line);
    }
  }
  const sections = claims.map(({ claim, messages }) => `## ${claim}\n${messages.join("\n")}\n`);
  if (unexpected.length > 0) sections.push(`## unexpected\n${unexpected.join("\n")}\n`);
  return sections.join("\n");
}

function sortedUnion(union: string): string {
  return union.split(" | ").sort().join(" | ");
}
