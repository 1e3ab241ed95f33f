import { type Check, terminal } from "./check.ts";

/** Counters equal a recount, a node never moves before its upstreams, and a run's state agrees with its nodes'. */
export const graphChecks: readonly Check[] = [
  {
    name: "run-remaining",
    mode: "safety",
    sql: (t) => `
      select format('run %s has remaining %s, a recount gives %s', r.id, r.remaining, coalesce(c.n, 0)) as message
      from ${t.runs} r
      left join (
        select s.run_id, count(*) filter (where s.state::text not in ${terminal} or s.unactivated) as n
        from ${t.steps} s where s.item = 0 group by s.run_id
      ) c on c.run_id = r.id
      where r.remaining <> coalesce(c.n, 0)`,
  },
  {
    name: "run-failed-count",
    mode: "safety",
    sql: (t) => `
      select format('run %s has failed %s, but %s discarded nodes', r.id, r.failed, coalesce(c.n, 0)) as message
      from ${t.runs} r
      left join (select s.run_id, count(*) as n from ${t.steps} s where s.item = 0 and s.state = 'discarded' group by s.run_id) c
        on c.run_id = r.id
      where r.failed <> coalesce(c.n, 0)`,
  },
  {
    name: "step-pending",
    mode: "safety",
    sql: (t) => `
      select format('run %s node %s (%s) has pending %s, a recount gives %s', s.run_id, s.node, s.state, s.pending, coalesce(c.n, 0)) as message
      from ${t.steps} s
      left join (
        select d.run_id, d.node_key, count(*) filter (where u.state is null or u.state <> 'completed' or u.unactivated) as n
        from ${t.deps} d
        left join ${t.steps} u on u.bucket = d.bucket and u.run_id = d.run_id and u.key = d.upstream_key and u.item = 0
        group by d.run_id, d.node_key
      ) c on c.run_id = s.run_id and c.node_key = s.key
      where s.item = 0 and s.state::text not in ${terminal} and s.pending <> coalesce(c.n, 0)`,
  },
  {
    name: "step-not-activated",
    mode: "safety",
    sql: (t) => `
      select format('run %s node %s is %s with pending %s', s.run_id, s.node, s.state, s.pending) as message
      from ${t.steps} s
      where s.item = 0 and s.state::text not in ${terminal} and (s.state = 'pending') <> (s.pending > 0)`,
  },
  {
    name: "before-upstream",
    mode: "safety",
    sql: (t) => `
      select format('run %s node %s is %s (claimed %s times, last at %s), but its upstream %s is %s (finished at %s)',
        s.run_id, s.node, s.state, s.lease_epoch, s.started_at, u.node, u.state, u.finished_at) as message
      from ${t.deps} d
      join ${t.steps} s on s.bucket = d.bucket and s.run_id = d.run_id and s.key = d.node_key and s.item = 0
      join ${t.steps} u on u.bucket = d.bucket and u.run_id = d.run_id and u.key = d.upstream_key and u.item = 0
      where (s.lease_epoch > 0 or s.state not in ('pending', 'cancelled')) and (u.state <> 'completed' or s.started_at < u.finished_at)`,
  },
  {
    name: "live-downstream-of-discarded",
    mode: "safety",
    sql: (t) => `
      select format('run %s node %s is %s, but its upstream %s is %s', s.run_id, s.node, s.state, u.node, u.state) as message
      from ${t.deps} d
      join ${t.steps} s on s.bucket = d.bucket and s.run_id = d.run_id and s.key = d.node_key and s.item = 0
      join ${t.steps} u on u.bucket = d.bucket and u.run_id = d.run_id and u.key = d.upstream_key and u.item = 0
      where s.state = 'pending' and u.state in ('discarded', 'cancelled')`,
  },
  {
    name: "graph-copies",
    mode: "safety",
    sql: (t) => `
      select format('run %s node %s has downs %s, its edges say %s', s.run_id, s.node, s.downs, d.keys) as message
      from ${t.steps} s
      left join (
        select bucket, run_id, upstream_key, array_agg(node_key order by node_key) as keys from ${t.deps} group by bucket, run_id, upstream_key
      ) d on d.bucket = s.bucket and d.run_id = s.run_id and d.upstream_key = s.key
      where s.item = 0 and coalesce((select array_agg(k order by k) from unnest(s.downs) k), '{}') <> coalesce(d.keys, '{}')`,
  },
  {
    name: "live-node-in-ended-run",
    mode: "safety",
    sql: (t) => `
      select format('run %s is %s, but its node %s is %s', r.id, r.state, s.node, s.state) as message
      from ${t.runs} r
      join ${t.steps} s on s.bucket = r.bucket and s.run_id = r.id
      where r.state <> 'running' and s.state::text not in ${terminal}`,
  },
  {
    name: "run-state",
    mode: "safety",
    sql: (t) => `
      select format('run %s is %s (finished at %s) with %s of %s nodes completed, %s discarded, %s cancelled, %s not counted yet',
        r.id, r.state, r.finished_at, c.completed, c.nodes, c.discarded, c.cancelled, c.unactivated) as message
      from ${t.runs} r
      left join (
        select s.bucket, s.run_id, count(*) as nodes, count(*) filter (where s.state = 'completed') as completed,
          count(*) filter (where s.state = 'discarded') as discarded, count(*) filter (where s.state = 'cancelled') as cancelled,
          count(*) filter (where s.unactivated) as unactivated
        from ${t.steps} s where s.item = 0 group by s.bucket, s.run_id
      ) c on c.bucket = r.bucket and c.run_id = r.id
      where case r.state::text
        when 'running' then r.finished_at is not null or coalesce(c.completed + c.discarded + c.cancelled - c.unactivated, 0) = coalesce(c.nodes, 0)
        when 'completed' then r.finished_at is null or c.completed - c.unactivated < c.nodes
        when 'failed' then r.finished_at is null or (coalesce(c.discarded, 0) = 0 and r.deadline is null)
        else r.finished_at is null
      end`,
  },
];
