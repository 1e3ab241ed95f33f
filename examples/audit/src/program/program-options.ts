import { parseArgs } from "node:util";
import { UsageError } from "./usage-error.ts";

/** What the command line asks for. */
export type ProgramOptions =
  | { readonly kind: "help" }
  | {
      readonly kind: "audit";
      /** As typed; undefined: the clone that the program stands in. */
      readonly folder: string | undefined;
      readonly once: boolean;
      /** Where the database is kept, as typed; undefined: in the clone. */
      readonly data: string | undefined;
      /** A Postgres to use instead of the embedded one. */
      readonly database: string | undefined;
      /** Packages that are looked at at one time. */
      readonly concurrency: number;
      /** How long each package is held up. */
      readonly slowMs: number;
    };

export const HELP = `Audits the packages that are installed in a folder: licences, sizes, and what to look at.
The audit is one run of Cyclone with a node per package. Kill it half-way and start it again: it goes on where it was.

Usage: npm start -- [options] [folder]

  folder              what to audit (default: this clone)
  --once              exit after the report: 0, or 1 if the totals don't agree or the run failed
                      (without it, audits again when Enter is pressed or the installed packages change; Ctrl-C stops)
  --data FOLDER       where the embedded Postgres keeps its data (default: .cyclone/postgres in this clone)
  --database URL      use this Postgres instead of the embedded one
  --concurrency N     look at so many packages at one time (default: 10)
  --slow MS           hold each package up so many milliseconds, to have the time to kill the program half-way
  --help              show this
`;

const CONCURRENCY = { least: 1, most: 100, otherwise: 10 } as const;
const SLOW_MS = { least: 0, most: 60_000, otherwise: 0 } as const;

/** @throws UsageError for anything that isn't in {@link HELP} */
export function programOptions(args: readonly string[]): ProgramOptions {
  const { values, positionals } = parse(args);
  if (values.help) return { kind: "help" };
  const [folder, ...more] = positionals;
  if (more.length > 0)
    throw new UsageError(`one folder at a time, but there are ${positionals.length}: ${positionals.join(" ")}`);
  if (values.data !== undefined && values.database !== undefined) {
    throw new UsageError("--data is for the embedded Postgres, --database for another one: give only one of them");
  }
  return {
    kind: "audit",
    folder,
    once: values.once ?? false,
    data: values.data,
    database: values.database,
    concurrency: wholeNumber("--concurrency", values.concurrency, CONCURRENCY),
    slowMs: wholeNumber("--slow", values.slow, SLOW_MS),
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        once: { type: "boolean" },
        data: { type: "string" },
        database: { type: "string" },
        concurrency: { type: "string" },
        slow: { type: "string" },
        help: { type: "boolean", short: "h" },
      },
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // What follows the first sentence is about arguments that begin with a dash.
    throw new UsageError(message.split(". ")[0] ?? message);
  }
}

function wholeNumber(
  option: string,
  text: string | undefined,
  { least, most, otherwise }: { readonly least: number; readonly most: number; readonly otherwise: number },
): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= least && value <= most) return value;
  throw new UsageError(`${option} takes a whole number from ${least} to ${most}, not "${text}"`);
}
