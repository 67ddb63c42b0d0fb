create table if not exists error_code (
  code text primary key,
  domain text not null,
  description text not null,
  retryable boolean not null default false,
  http_status int,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);

create table if not exists error_event (
  event_id uuid primary key,
  code text not null references error_code(code),
  correlation_id uuid not null,
  service text not null,
  endpoint text,
  http_status int,
  tenant_hash text,
  details jsonb,
  region text,
  ts timestamptz not null default now(),
  day date generated always as (date_trunc('day', ts)::date) stored
);

create index if not exists error_event_code_day_idx on error_event (code, day);
create index if not exists error_event_service_day_idx on error_event (service, day);
create index if not exists error_event_ts_idx on error_event (ts);
create index if not exists error_event_retryable_idx on error_event ((details->>'retryable'));
