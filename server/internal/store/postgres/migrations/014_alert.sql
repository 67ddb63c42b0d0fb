-- +goose Up
-- +goose StatementBegin
-- Alerts, silences, the providers in use, and the outbox of notifications.

-- An episode: a rule holds for a scope, from when to when.
create table recoup.alert (
  alert_id    uuid primary key,
  rule        text collate "C" not null,
  scope       text collate "C", -- null: everything together
  state       text not null check (state in ('PENDING', 'FIRING', 'RESOLVED')),
  severity    text not null,
  action      text not null,
  condition   text not null, -- in words
  samples     bigint not null check (samples >= 0),
  pending_at  timestamptz not null,
  fired_at    timestamptz,
  resolved_at timestamptz,
  notified_at timestamptz,
  notified    int not null default 0 check (notified >= 0),
  value       float8 not null,
  constraint alert_fired check (state = 'RESOLVED' or (state = 'FIRING') = (fired_at is not null)),
  constraint alert_resolved check ((state = 'RESOLVED') = (resolved_at is not null)),
  constraint alert_notified check ((notified = 0) = (notified_at is null))
) with (fillfactor = 70);
-- By the end of an id, which people type.
create index alert_id_end_idx on recoup.alert (substr(uuid_send(alert_id), 14));
create unique index alert_open_key on recoup.alert (rule, coalesce(scope, '')) where state <> 'RESOLVED';
create index alert_list_idx on recoup.alert (pending_at, alert_id);
create index alert_open_list_idx on recoup.alert (pending_at, alert_id) where state <> 'RESOLVED';
create index alert_rule_idx on recoup.alert (rule, pending_at, alert_id);
create index alert_scope_idx on recoup.alert (scope, pending_at, alert_id) where scope is not null;
create index alert_resolved_idx on recoup.alert (resolved_at) where resolved_at is not null;
-- The alerts of a rule that people were notified of.
create index alert_notified_idx on recoup.alert (rule, coalesce(scope, ''), pending_at, alert_id) where notified > 0;

-- alert_guard keeps an episode what it was, and over once it is over.
create function recoup.alert_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  bad text;
begin
  if tg_op = 'DELETE' then
    if old.state <> 'RESOLVED' then
      raise exception using errcode = 'RC001', message = 'an alert that is not resolved is not deleted';
    end if;
    return old;
  end if;
  if tg_op = 'INSERT' then
    bad := case
      when new.state = 'RESOLVED' then 'an alert begins before it ends'
      when exists (select from recoup.alert a where a.rule = new.rule and coalesce(a.scope, '') = coalesce(new.scope, '')
        and a.state <> 'RESOLVED') then 'the rule holds for this scope already'
    end;
  else
    bad := case
      when old.state = 'RESOLVED' then 'this alert is resolved'
      when (new.alert_id, new.rule, new.scope, new.pending_at) is distinct from (old.alert_id, old.rule, old.scope, old.pending_at)
        then 'what an alert is about and when it began is permanent'
      when old.fired_at is not null and new.fired_at is distinct from old.fired_at then 'it fired when it fired'
      when new.notified < old.notified then 'what people were notified of stays'
    end;
  end if;
  if bad is not null then
    raise exception using errcode = 'RC001', message = bad;
  end if;
  return new;
end $$;
create trigger guard before insert or update or delete on recoup.alert
  for each row execute function recoup.alert_guard();
create trigger forbidden_truncate before truncate on recoup.alert
  for each statement execute function recoup.forbid();

-- purge_alerts deletes a batch of alerts that are long over. It is the only way:
-- nodes may not delete from the table.
create function recoup.purge_alerts(as_of timestamptz, batch int) returns int
language plpgsql strict security definer set search_path = pg_catalog, pg_temp as $$
declare n int;
begin
  as_of := least(as_of, recoup.clock() + recoup.tolerance() - interval '365 days');
  with old as (select alert_id from recoup.alert where resolved_at < as_of order by resolved_at limit batch)
  delete from recoup.alert a using old where a.alert_id = old.alert_id;
  get diagnostics n = row_count;
  return n;
end $$;

-- Nobody is notified of what a silence covers.
create table recoup.silence (
  silence_id uuid primary key,
  rule       text collate "C", -- null: any
  scope      text collate "C", -- null: any
  until      timestamptz not null,
  reason     text not null check (reason <> ''),
  created_at timestamptz not null,
  created_by text not null,
  ended_at   timestamptz, -- by hand, before its time
  ended_by   text,
  constraint silence_time check (until > created_at),
  constraint silence_ended check ((ended_at is null) = (ended_by is null) and ended_at < until)
);
-- By the end of an id, which people type.
create index silence_id_end_idx on recoup.silence (substr(uuid_send(silence_id), 14));
create index silence_list_idx on recoup.silence (created_at, silence_id);
create index silence_until_idx on recoup.silence (until) where ended_at is null;

-- silence_guard lets a silence be ended, once, and changes nothing else.
create function recoup.silence_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if new.ended_at is not null then
      raise exception using errcode = 'RC001', message = 'a silence begins before it ends';
    end if;
    return new;
  end if;
  if old.ended_at is not null or new.ended_at is null
    or (new.silence_id, new.rule, new.scope, new.until, new.reason, new.created_at, new.created_by)
    is distinct from (old.silence_id, old.rule, old.scope, old.until, old.reason, old.created_at, old.created_by) then
    raise exception using errcode = 'RC001', message = 'a silence can only be ended, once';
  end if;
  return new;
end $$;
create trigger guard before insert or update on recoup.silence
  for each row execute function recoup.silence_guard();
create trigger forbidden_truncate before truncate on recoup.silence
  for each statement execute function recoup.forbid();

-- silence_delete lets a silence go when it is long over, and only as far as
-- purge_silences says for the moment; nodes may not delete from the table at all.
create function recoup.silence_delete() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if old.until < nullif(current_setting('recoup.silences_until', true), '')::timestamptz then
    return old;
  end if;
  raise exception using errcode = 'RC001', message = 'a silence is deleted only when it is long over';
end $$;
create trigger guard_delete before delete on recoup.silence
  for each row execute function recoup.silence_delete();

-- purge_silences deletes a batch of silences that are long over. The order of the
-- list leads to the oldest.
create function recoup.purge_silences(as_of timestamptz, batch int) returns int
language plpgsql strict security definer set search_path = pg_catalog, pg_temp as $$
declare n int;
begin
  as_of := least(as_of, recoup.clock() + recoup.tolerance() - interval '365 days');
  perform set_config('recoup.silences_until', as_of::text, true);
  with old as (select silence_id from recoup.silence where created_at < as_of and until < as_of order by created_at, silence_id limit batch)
  delete from recoup.silence s using old where s.silence_id = old.silence_id;
  get diagnostics n = row_count;
  perform set_config('recoup.silences_until', '', true);
  return n;
end $$;

-- Groups of providers that were switched. What was before is in the audit.
create table recoup.provider (
  group_name  text collate "C" primary key,
  active      text not null check (active <> ''),
  since       timestamptz not null,
  switched_by text not null,
  reason      text,
  alert_id    uuid -- null: a person did
) with (fillfactor = 50);

create function recoup.provider_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if new.group_name <> old.group_name or new.active = old.active then
    raise exception using errcode = 'RC001', message = 'a switch is from one provider of a group to another';
  end if;
  return new;
end $$;
create trigger guard before update on recoup.provider
  for each row execute function recoup.provider_guard();
create trigger forbidden before delete on recoup.provider
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.provider
  for each statement execute function recoup.forbid();

-- The outbox: notifications, written in the commit that caused them. One waits, or is
-- delivered, or is given up as undeliverable.
create table recoup.outbox (
  notice_id    uuid primary key default gen_random_uuid(),
  kind         text not null,
  recipient    text not null,
  error_id     uuid,
  created_at   timestamptz not null,
  due_at       timestamptz, -- null: delivered or given up
  attempts     int not null default 0,
  delivered_at timestamptz,
  given_up_at  timestamptz,
  last_error   text,
  body         json,
  dedup_key    text collate "C", -- of what is sent once
  resend_of    uuid,             -- the given up one that it is a requeue of
  constraint outbox_end check (num_nonnulls(due_at, delivered_at, given_up_at) = 1),
  constraint outbox_attempts check (attempts >= 0)
);
-- By the end of an id, which people type.
create index outbox_id_end_idx on recoup.outbox (substr(uuid_send(notice_id), 14));
create index outbox_due_idx on recoup.outbox (due_at) where due_at is not null;
create unique index outbox_dedup_key on recoup.outbox (dedup_key) where dedup_key is not null;
create index outbox_end_idx on recoup.outbox (coalesce(delivered_at, given_up_at)) where due_at is null;
-- As a list, newest first.
create index outbox_list_idx on recoup.outbox (created_at, notice_id);
create index outbox_waiting_idx on recoup.outbox (created_at, notice_id) where due_at is not null;
create index outbox_given_up_idx on recoup.outbox (created_at, notice_id) where given_up_at is not null;
-- What waits and has an end or is one: nobody is notified of an end before they were
-- of the beginning.
create index outbox_span_idx on recoup.outbox (kind, error_id)
  where due_at is not null and kind in ('PAGE', 'ALERT', 'JOB_LATE', 'JOB_RECOVERED');

-- outbox_guard keeps a notification what it is, and its attempts counted.
create or replace function recoup.outbox_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  bad text;
begin
  if tg_op = 'DELETE' then
    if old.due_at is not null then
      raise exception using errcode = 'RC001', message = 'a notice that waits is not deleted';
    end if;
    return old;
  end if;
  bad := case
    when old.due_at is null then 'this notice is delivered or given up'
    when (new.notice_id, new.kind, new.recipient, new.error_id, new.created_at, new.dedup_key, new.resend_of, new.body::text)
      is distinct from (old.notice_id, old.kind, old.recipient, old.error_id, old.created_at, old.dedup_key, old.resend_of, old.body::text)
      then 'what a notice says is permanent'
    when new.attempts not in (old.attempts, old.attempts + 1) then 'attempts are counted one by one'
  end;
  if bad is not null then
    raise exception using errcode = 'RC001', message = bad;
  end if;
  return new;
end $$;
create trigger guard before update or delete on recoup.outbox
  for each row execute function recoup.outbox_guard();
create trigger forbidden_truncate before truncate on recoup.outbox
  for each statement execute function recoup.forbid();
-- +goose StatementEnd
