/** Tables whose rows belong to a bucket; `settings` and `migrations` hold what concerns the whole installation. */
const BUCKETED = ["runs", "steps", "deps", "attempts", "signals", "schedules", "queues", "clients"];

/** Functions whose value is that of BEGIN: a user's transaction may have begun long ago. */
const TIME_OF_BEGIN =
  /\bnow\s*\(|\b(current_timestamp|current_date|current_time|localtime|localtimestamp)\b|\btransaction_timestamp\s*\(/gi;

/**
 * References to an engine table that `bucket = $1` doesn't constrain in their own query level, one readable line each. A
 * statement without it reads all buckets, which a distributed database refuses.
 */
export function unboundTables(text: string): string[] {
  return queryLevels(withoutComments(text)).flatMap((level) => [...unboundReads(level), ...unboundInserts(level)]);
}

/** Uses of BEGIN's time. */
export function timesOfBegin(text: string): string[] {
  return withoutComments(text).match(TIME_OF_BEGIN) ?? [];
}

/** The numbers of the parameters that a statement uses, ascending. */
export function parameterNumbers(text: string): number[] {
  const numbers = [...withoutComments(text).matchAll(/\$(\d+)/g)].map(([, number]) => Number(number));
  return [...new Set(numbers)].sort((a, b) => a - b);
}

/** Strings in quotes, which may only be words of the schema (states, outcomes, units): values are parameters. */
export function literals(text: string): string[] {
  return [...withoutComments(text).matchAll(/'((?:[^']|'')*)'/g)].map(([, literal]) => literal ?? "");
}

/** The query levels of a statement: each pair of brackets without what is in the brackets inside it. */
function queryLevels(text: string): string[] {
  const open: string[] = [""];
  const closed: string[] = [];
  for (const character of text) {
    if (character === "(") open.push("");
    else if (character === ")") {
      closed.push(open.pop() ?? "");
      open[open.length - 1] += " (…) ";
    } else open[open.length - 1] += character;
  }
  return [...closed, ...open];
}

function unboundReads(level: string): string[] {
  const pattern = new RegExp(
    `\\b(from|join|update|using)\\s+\\S*cyclone_(${BUCKETED.join("|")})\\b(?:\\s+(?:as\\s+)?(?!set\\b|where\\b|join\\b|cross\\b|order\\b|limit\\b|on\\b)(\\w+))?`,
    "gi",
  );
  return [...level.matchAll(pattern)].flatMap(([found, , table, alias]) => {
    const name = alias === undefined ? `cyclone_${table}` : alias;
    return new RegExp(`\\b${name}\\.bucket\\s*=\\s*\\$1(?!\\d)`).test(level) ? [] : [found.replace(/\s+/g, " ")];
  });
}

/** Inserts that don't put `$1` into `bucket`, which stands first. */
function unboundInserts(level: string): string[] {
  const pattern = new RegExp(
    `\\binsert\\s+into\\s+\\S*cyclone_(${BUCKETED.join("|")})\\b[^]*?(?=\\binsert\\b|$)`,
    "gi",
  );
  return [...level.matchAll(pattern)].flatMap(([found]) =>
    /\bselect\s+\$1(?!\d)/.test(found) ? [] : [found.slice(0, 60).replace(/\s+/g, " ")],
  );
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[^]*?\*\//g, " ").replace(/--.*$/gm, " ");
}
