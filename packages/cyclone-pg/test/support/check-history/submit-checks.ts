import type { HistoryEvent, OperationEvent } from "../history.ts";
import type { Check } from "./check.ts";

interface SubmitRecord {
  readonly outcome: "ok" | "info" | "fail";
  readonly key: string | undefined;
  readonly run: string | undefined;
}

/** Each submit with what became of it; one without an answer may or may not have happened. */
function submits(events: readonly HistoryEvent[]): readonly SubmitRecord[] {
  const byId = new Map<string, OperationEvent[]>();
  for (const event of events) {
    if (!("operation" in event) || event.operation !== "submit") continue;
    byId.set(event.id, [...(byId.get(event.id) ?? []), event]);
  }
  return [...byId.values()].map((own) => {
    const answer = own.find((event) => event.type !== "invoke");
    const outcome = answer === undefined || answer.type === "invoke" ? "info" : answer.type;
    return { outcome, key: own[0]?.key, run: answer?.run };
  });
}

const given = (alias: string): string => `jsonb_to_recordset($1::jsonb) ${alias}(outcome text, key text, run uuid)`;

/** What was acknowledged is there; what was refused isn't; a key has one run. */
export const submitChecks: readonly Check[] = [
  {
    name: "submit-lost",
    mode: "safety",
    records: submits,
    sql: (t) => `
      select format('run %s (key %s) was acknowledged, but isn''t there', x.run, x.key) as message
      from ${given("x")}
      where x.outcome = 'ok' and not exists (select from ${t.runs} r where r.id = x.run and (x.key is null or r.idempotency_key = x.key))`,
  },
  {
    name: "submit-key-doubled",
    mode: "safety",
    records: submits,
    sql: (t) => `
      select format('key %s has %s runs', k.key, k.n) as message
      from (
        select x.key, greatest(
          (select count(*) from ${t.runs} r where r.idempotency_key = x.key),
          count(distinct x.run) filter (where x.outcome = 'ok')) as n
        from ${given("x")} where x.key is not null group by x.key
      ) k
      where k.n > 1`,
  },
  {
    name: "submit-refused-exists",
    mode: "safety",
    reads: "after",
    records: submits,
    sql: (t) => `
      select format('key %s was refused, but run %s has it', x.key, r.id) as message
      from ${given("x")}
      join ${t.runs} r on r.idempotency_key = x.key
      where x.outcome = 'fail' and not exists (select from ${given("y")} where y.key = x.key and y.outcome <> 'fail')`,
  },
];
