import type { Tables } from "../sql/tables.ts";
import { seedStatistics } from "./seed-statistics.ts";

/**
 * Purpose: the whole schema. Locks: only what it creates. Older workers: there are none.
 *
 * - `bucket` leads every key and engine index, so that the tables can be distributed by it.
 * - A node's `key` is its index in the builder, which is topological: ascending (run, key, item) is the lock order. The
 *   item tasks of a forEach have the key of their node and items -1, -2 …, so that they sort before it; all others have item 0.
 * - `downs` (keys of downstream nodes), `refs` and `ref_paths` (what of which upstream the input refers to) repeat
 *   cyclone_deps for the hot path, which reads one row and no second table; so does `traceparent` the run's.
 */
export const initial = (t: Tables, bucketCount: number): string => `
create type ${t.runState} as enum ('running', 'completed', 'failed', 'cancelled');
create type ${t.stepState} as enum ('pending', 'scheduled', 'available', 'running', 'waiting', 'completed', 'discarded', 'cancelled');
create type ${t.runKind} as enum ('workflow', 'step', 'action');
create type ${t.nodeKind} as enum ('step', 'action', 'forEach', 'child', 'signal', 'sleep');
create type ${t.attemptOutcome} as enum ('failed', 'timed_out', 'discarded', 'snoozed', 'released', 'interrupted', 'reclaimed', 'cancelled');

create table ${t.settings} (
  name text primary key,
  value jsonb not null
);
insert into ${t.settings} (name, value) values ('bucket_count', to_jsonb(${bucketCount}));

create table ${t.runs} (
  bucket smallint not null,
  id uuid not null,
  kind ${t.runKind} not null,
  name text not null,
  workflow text generated always as (case when kind = 'workflow' then name end) stored,
  state ${t.runState} not null default 'running',
  remaining int not null,
  failed int not null default 0,
  retries int not null default 0,
  result_key int,
  result_node text,
  result_path text,
  input jsonb,
  error jsonb,
  cancel_reason text,
  tags text[],
  idempotency_key text,
  priority smallint,
  queue text,
  fail_fast boolean,
  traceparent text,
  deadline timestamptz,
  retention_ms bigint,
  schedule text,
  slot timestamptz,
  root_run_id uuid,
  parent_run_id uuid,
  parent_key int,
  parent_item int,
  end_undelivered boolean,
  created_at timestamptz not null default statement_timestamp(),
  finished_at timestamptz,
  primary key (bucket, id),
  check (name <> ''),
  check (idempotency_key <> ''),
  check (remaining >= 0),
  check ((state = 'running') = (finished_at is null))
) with (fillfactor = 50, autovacuum_analyze_threshold = 500, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.05);
create unique index cyclone_runs_idempotency on ${t.runs} (bucket, kind, name, idempotency_key) where idempotency_key is not null;
create index cyclone_runs_created on ${t.runs} (bucket, created_at, id);
create index cyclone_runs_retention on ${t.runs} (bucket, created_at, id) where retention_ms is not null;
create index cyclone_runs_unsuccessful on ${t.runs} (bucket, created_at, id) where state in ('failed', 'cancelled');
create index cyclone_runs_parent on ${t.runs} (bucket, parent_run_id) where parent_run_id is not null;
create index cyclone_runs_undelivered on ${t.runs} (bucket, finished_at) where end_undelivered;
create index cyclone_runs_deadline on ${t.runs} (bucket, deadline) where state = 'running' and deadline is not null;

create table ${t.steps} (
  bucket smallint not null,
  run_id uuid not null,
  key int not null,
  item int not null default 0,
  node text not null,
  step text,
  kind ${t.nodeKind} not null,
  state ${t.stepState} not null,
  queue text not null default 'default',
  priority smallint not null default 0,
  pending int not null default 0,
  attempts int not null default 0,
  max_attempts int not null default 25,
  reclaims int not null default 0,
  max_reclaims int default 10,
  snoozes int not null default 0,
  lease_epoch int not null default 0,
  lease_owner uuid,
  lease_expiry timestamptz,
  available_at timestamptz,
  started_at timestamptz,
  finished_at timestamptz,
  timeout_ms bigint,
  traceparent text,
  has_deadline boolean,
  unactivated boolean,
  downs int[],
  refs int[],
  ref_paths text[],
  input jsonb,
  output jsonb,
  error jsonb,
  control jsonb,
  items_total int,
  items_inserted int,
  items_discarded int,
  child_run_id uuid,
  progress real,
  progress_message text,
  primary key (bucket, run_id, key, item),
  check (node <> ''),
  check (step <> ''),
  check (pending >= 0),
  check (state <> 'running' or (lease_owner is not null and lease_expiry is not null)),
  check (state not in ('completed', 'discarded', 'cancelled') or finished_at is not null)
) with (fillfactor = 50, autovacuum_analyze_threshold = 500, autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.05);
create index cyclone_steps_claim on ${t.steps} (bucket, queue, step, priority desc, available_at) where state = 'available';
create index cyclone_steps_lease on ${t.steps} (bucket, lease_expiry) where state = 'running';
create index cyclone_steps_due on ${t.steps} (bucket, available_at) where state in ('scheduled', 'waiting') and available_at is not null;
create index cyclone_steps_unactivated on ${t.steps} (bucket, finished_at) where unactivated;

create table ${t.deps} (
  bucket smallint not null,
  run_id uuid not null,
  upstream_key int not null,
  node_key int not null,
  node text not null,
  upstream text not null,
  data boolean not null,
  primary key (bucket, run_id, upstream_key, node_key),
  check (upstream_key < node_key)
);

create table ${t.attempts} (
  bucket smallint not null,
  run_id uuid not null,
  key int not null,
  item int not null default 0,
  epoch int not null,
  attempt int not null,
  worker uuid,
  started_at timestamptz,
  finished_at timestamptz not null default statement_timestamp(),
  outcome ${t.attemptOutcome} not null,
  error jsonb,
  primary key (bucket, run_id, key, item, epoch)
);

create table ${t.signals} (
  bucket smallint not null,
  run_id uuid not null,
  name text not null,
  id uuid not null,
  delivery_id text,
  payload jsonb,
  created_at timestamptz not null default statement_timestamp(),
  consumed_key int,
  consumed_item int,
  consumed_at timestamptz,
  primary key (bucket, run_id, name, id),
  check (name <> '')
);
create unique index cyclone_signals_delivery on ${t.signals} (bucket, run_id, name, delivery_id) where delivery_id is not null;

create table ${t.schedules} (
  bucket smallint not null,
  name text not null,
  kind ${t.runKind} not null,
  start_name text not null,
  input jsonb,
  cron text,
  every_ms bigint,
  time_zone text not null default 'UTC',
  catch_up text not null default 'skip',
  overlap text not null default 'allow',
  tags text[],
  paused boolean not null default false,
  next_at timestamptz,
  last_slot timestamptz,
  last_run_id uuid,
  missed bigint not null default 0,
  created_at timestamptz not null default statement_timestamp(),
  updated_at timestamptz not null default statement_timestamp(),
  primary key (bucket, name),
  check (name <> ''),
  check ((cron is null) <> (every_ms is null)),
  check (catch_up in ('skip', 'one')),
  check (overlap in ('allow', 'skip'))
);
create index cyclone_schedules_due on ${t.schedules} (bucket, next_at) where not paused and next_at is not null;

create table ${t.queues} (
  bucket smallint not null,
  name text not null,
  paused boolean not null default false,
  concurrency int,
  updated_at timestamptz not null default statement_timestamp(),
  primary key (bucket, name),
  check (name <> '')
);

create table ${t.clients} (
  bucket smallint not null default 0,
  id uuid not null,
  hostname text,
  pid int,
  version text,
  queues text[],
  handlers text[],
  concurrency int,
  started_at timestamptz not null default statement_timestamp(),
  seen_at timestamptz not null default statement_timestamp(),
  primary key (bucket, id)
);

${seedStatistics(t, bucketCount)}
`;
