// Package presettest is for tests: the tables of queues, as their libraries make them,
// and what their workers do there, as plain SQL.
package presettest

// Queue is a queue without its workers.
type Queue struct {
	Preset string
	Table  string // SCHEMA.TABLE
	DDL    string // makes it in the schema shop, with a job that waits (1) and one that has failed for good (2)

	Key    string // of the failed job
	Entity string // of it, if the arguments of jobs say so
	Start  string // a worker takes the job
	Fail   string // and it fails for good, in another way than the last time
	Done   string // or it is done
}

// Queues has one of each preset.
var Queues = []Queue{
	{
		Preset: "river", Table: "shop.river_job", Key: "2", Entity: "args->>'order'",
		DDL: `create type shop.river_job_state as enum ('available', 'cancelled', 'completed', 'discarded', 'pending', 'retryable', 'running', 'scheduled');
create table shop.river_job (
  id bigserial primary key,
  state shop.river_job_state not null default 'available',
  attempt smallint not null default 0,
  max_attempts smallint not null,
  attempted_at timestamptz,
  created_at timestamptz not null default now(),
  finalized_at timestamptz,
  scheduled_at timestamptz not null default now(),
  priority smallint not null default 1,
  args jsonb,
  attempted_by text[],
  errors jsonb[],
  kind text not null,
  metadata jsonb not null default '{}',
  queue text not null default 'default',
  tags varchar(255)[] not null default '{}',
  unique_key bytea,
  unique_states bit(8),
  constraint finalized_or_finalized_at_null check (
    (finalized_at is null and state not in ('cancelled', 'completed', 'discarded')) or (finalized_at is not null and state in ('cancelled', 'completed', 'discarded')))
);
insert into shop.river_job (state, attempt, max_attempts, finalized_at, args, errors, kind) values
  ('available', 0, 3, null, '{"order": "o1"}', null, 'charge'),
  ('discarded', 3, 3, '2026-02-02 08:59Z', '{"order": "o2"}', array['{"at": "2026-01-01", "error": "first"}', '{"at": "2026-01-01", "error": "no answer"}']::jsonb[], 'charge')`,
		Start: "update shop.river_job set state = 'running', attempt = attempt + 1, attempted_at = now() where id = 2 and state = 'available' and attempt < max_attempts",
		Fail:  `update shop.river_job set state = 'discarded', finalized_at = now(), errors = errors || '{"error": "again"}'::jsonb where id = 2 and state = 'running' and attempt >= max_attempts`,
		Done:  "update shop.river_job set state = 'completed', finalized_at = now() where id = 2 and state = 'running'",
	},
	{
		Preset: "oban", Table: "shop.oban_jobs", Key: "2", Entity: "args->>'order'",
		DDL: `create type shop.oban_job_state as enum ('available', 'scheduled', 'executing', 'retryable', 'completed', 'discarded', 'cancelled', 'suspended');
create table shop.oban_jobs (
  id bigserial primary key,
  state shop.oban_job_state not null default 'available',
  queue text not null default 'default',
  worker text not null,
  args jsonb not null default '{}',
  errors jsonb[] not null default array[]::jsonb[],
  attempt integer not null default 0,
  max_attempts integer not null default 20,
  inserted_at timestamp not null default timezone('UTC', now()),
  scheduled_at timestamp not null default timezone('UTC', now()),
  attempted_at timestamp,
  completed_at timestamp,
  attempted_by text[],
  discarded_at timestamp,
  priority integer not null default 0,
  tags text[] default array[]::text[],
  meta jsonb default '{}',
  cancelled_at timestamp,
  constraint attempt_range check (attempt between 0 and max_attempts)
);
insert into shop.oban_jobs (state, attempt, max_attempts, discarded_at, args, errors, worker) values
  ('available', 0, 3, null, '{"order": "o1"}', '{}', 'Shop.Charge'),
  ('discarded', 3, 3, '2026-02-02 08:59', '{"order": "o2"}', array['{"attempt": 3, "error": "no answer"}']::jsonb[], 'Shop.Charge')`,
		Start: "update shop.oban_jobs set state = 'executing', attempt = attempt + 1, attempted_at = timezone('UTC', now()) where id = 2 and state = 'available' and attempt < max_attempts",
		Fail:  `update shop.oban_jobs set state = 'discarded', discarded_at = timezone('UTC', now()), errors = errors || '{"error": "again"}'::jsonb where id = 2 and state = 'executing' and attempt >= max_attempts`,
		Done:  "update shop.oban_jobs set state = 'completed', completed_at = timezone('UTC', now()) where id = 2 and state = 'executing'",
	},
	{
		Preset: "graphile-worker", Table: "shop._private_jobs", Key: "2", Entity: "payload->>'order'",
		DDL: `create table shop._private_tasks (id int primary key generated always as identity, identifier text not null unique);
insert into shop._private_tasks (identifier) values ('charge');
create table shop._private_jobs (
  id bigint primary key generated always as identity,
  job_queue_id int,
  task_id int not null,
  payload json default '{}'::json not null,
  priority smallint default 0 not null,
  run_at timestamptz default now() not null,
  attempts smallint default 0 not null,
  max_attempts smallint default 25 not null check (max_attempts >= 1),
  last_error text,
  created_at timestamptz default now() not null,
  updated_at timestamptz default now() not null,
  key text unique,
  locked_at timestamptz,
  locked_by text,
  revision integer default 0 not null,
  flags jsonb,
  is_available boolean generated always as (locked_at is null and attempts < max_attempts) stored not null
);
alter table shop._private_jobs enable row level security;
create view shop.jobs as select id, run_at, attempts, last_error from shop._private_jobs;
insert into shop._private_jobs (task_id, payload, attempts, max_attempts, last_error) values
  (1, '{"order": "o1"}', 0, 3, null), (1, '{"order": "o2"}', 3, 3, 'no answer')`,
		Start: "update shop._private_jobs set attempts = attempts + 1, locked_at = now(), locked_by = 'w' where id = 2 and is_available and run_at <= now()",
		Fail:  "update shop._private_jobs set last_error = 'no answer', run_at = now() + interval '1 hour', locked_at = null, locked_by = null where id = 2 and locked_by = 'w'",
		Done:  "delete from shop._private_jobs where id = 2 and locked_by = 'w'",
	},
	{
		Preset: "pg-boss", Table: "shop.job", Key: `["charge", "00000000-0000-0000-0000-000000000002"]`, Entity: "data->>'order'",
		DDL: `create type shop.job_state as enum ('created', 'retry', 'active', 'completed', 'cancelled', 'failed');
create table shop.job (
  id uuid not null default gen_random_uuid(),
  name text not null,
  priority integer not null default 0,
  data jsonb,
  state shop.job_state not null default 'created',
  retry_limit integer not null default 2,
  retry_count integer not null default 0,
  retry_delay integer not null default 0,
  retry_backoff boolean not null default false,
  start_after timestamptz not null default now(),
  started_on timestamptz,
  singleton_key text,
  singleton_on timestamp,
  expire_in interval not null default interval '15 minutes',
  created_on timestamptz not null default now(),
  completed_on timestamptz,
  keep_until timestamptz not null default now() + interval '14 days',
  output jsonb,
  dead_letter text,
  policy text,
  primary key (name, id)
) partition by list (name);
create table shop.j1 partition of shop.job for values in ('charge');
insert into shop.job (id, name, data, state, retry_count, started_on, completed_on, output) values
  ('00000000-0000-0000-0000-000000000001', 'charge', '{"order": "o1"}', 'created', 0, null, null, null),
  ('00000000-0000-0000-0000-000000000002', 'charge', '{"order": "o2"}', 'failed', 2, '2026-02-02 08:59Z', '2026-02-02 08:59Z', '{"name": "Error", "message": "no answer"}')`,
		Start: `update shop.j1 set state = 'active', retry_count = retry_count + 1, started_on = now() where id = '00000000-0000-0000-0000-000000000002' and state < 'active' and start_after <= now()`,
		// A job that fails is deleted and inserted again, in one statement.
		Fail: `with gone as (delete from shop.job where id = '00000000-0000-0000-0000-000000000002' and state = 'active' and retry_count >= retry_limit returning *)
			insert into shop.job (id, name, data, state, retry_limit, retry_count, started_on, completed_on, output)
			select id, name, data, 'failed', retry_limit, retry_count, started_on, now(), '{"message": "again"}' from gone`,
		Done: `update shop.job set state = 'completed', completed_on = now() where id = '00000000-0000-0000-0000-000000000002' and state = 'active'`,
	},
}
