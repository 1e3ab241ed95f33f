import { defineStatement } from "../statement.ts";

export interface ReadNodeParams {
  readonly bucket: number;
  readonly runId: string;
  readonly node: string;
}

export interface ReadNodeRow {
  readonly state: string;
  readonly has_input: boolean;
  readonly input: unknown;
  readonly has_output: boolean;
  readonly output: unknown;
  readonly error: unknown;
}

/** One node by its name, with its payloads: the input as declared, with references where futures stand. */
export const readNode = defineStatement<ReadNodeParams, ReadNodeRow>({
  name: "read_node",
  text: (t) => `
select s.state::text as state, s.input is not null as has_input, s.input, s.output is not null as has_output, s.output, s.error
from ${t.steps} s
where s.bucket = $1::smallint and s.run_id = $2::uuid and s.node = $3
order by s.key, s.item
limit 1`,
  params: (p) => [p.bucket, p.runId, p.node],
  sample: { bucket: 0, runId: "01890000-0000-7000-8000-000000000000", node: "fetch" },
});
