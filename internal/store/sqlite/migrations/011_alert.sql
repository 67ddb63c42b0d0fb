-- +goose Up
-- Alerts: which rules hold, for whom, since when; what is not to be told for a
-- time; which providers are in use.
create table alert (
  alert_id    blob not null primary key check (length(alert_id) = 16),
  rule        text not null,
  scope       text, -- null: everything together
  state       text not null check (state in ('PENDING', 'FIRING', 'RESOLVED')),
  severity    text not null,
  action      text not null,
  condition   text not null, -- in words
  samples     integer not null check (samples >= 0),
  pending_at  integer not null,
  fired_at    integer,
  resolved_at integer,
  notified_at integer,
  notified    integer not null default 0 check (notified >= 0),
  value       real not null,
  constraint alert_fired check (state = 'RESOLVED' or (state = 'FIRING') = (fired_at is not null)),
  constraint alert_resolved check ((state = 'RESOLVED') = (resolved_at is not null)),
  constraint alert_notified check ((notified = 0) = (notified_at is null))
) strict, without rowid;
create unique index alert_open_key on alert (rule, coalesce(scope, '')) where state <> 'RESOLVED';
create index alert_list_idx on alert (pending_at, alert_id);
create index alert_open_list_idx on alert (pending_at, alert_id) where state <> 'RESOLVED';
create index alert_rule_idx on alert (rule, pending_at, alert_id);
create index alert_scope_idx on alert (scope, pending_at, alert_id) where scope is not null;
create index alert_resolved_idx on alert (resolved_at) where resolved_at is not null;

-- An episode stays what it was, and is over once it is over.
-- +goose StatementBegin
create trigger alert_insert before insert on alert begin
  select case
    when exists (select 1 from alert where alert_id = new.alert_id)
      then raise(abort, 'this alert exists already')
    when new.state = 'RESOLVED'
      then raise(abort, 'an alert begins before it ends')
    when exists (select 1 from alert where rule = new.rule and coalesce(scope, '') = coalesce(new.scope, '') and state <> 'RESOLVED')
      then raise(abort, 'the rule holds for this scope already')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger alert_update before update on alert begin
  select case
    when old.state = 'RESOLVED'
      then raise(abort, 'this alert is resolved')
    when new.alert_id is not old.alert_id or new.rule is not old.rule or new.scope is not old.scope or new.pending_at is not old.pending_at
      then raise(abort, 'what an alert is about and when it began is permanent')
    when old.fired_at is not null and new.fired_at is not old.fired_at
      then raise(abort, 'it fired when it fired')
    when new.notified < old.notified
      then raise(abort, 'what was told was told')
  end;
end;
-- +goose StatementEnd
alter table retention add column alert_until integer;
-- +goose StatementBegin
create trigger alert_delete before delete on alert
when (select old.resolved_at < alert_until from retention) is not true begin
  select raise(abort, 'an alert is deleted only when it is long over');
end;
-- +goose StatementEnd

create table silence (
  silence_id blob not null primary key check (length(silence_id) = 16),
  rule       text, -- null: any
  scope      text, -- null: any
  until      integer not null,
  reason     text not null check (reason <> ''),
  created_at integer not null,
  created_by text not null,
  ended_at   integer, -- by hand, before its time
  ended_by   text,
  constraint silence_time check (until > created_at),
  constraint silence_ended check ((ended_at is null) = (ended_by is null) and (ended_at is null or ended_at < until))
) strict, without rowid;
create index silence_list_idx on silence (created_at, silence_id);
create index silence_until_idx on silence (until) where ended_at is null;

-- +goose StatementBegin
create trigger silence_insert before insert on silence begin
  select case
    when exists (select 1 from silence where silence_id = new.silence_id)
      then raise(abort, 'this silence exists already')
    when new.ended_at is not null
      then raise(abort, 'a silence begins before it ends')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger silence_update before update on silence
when old.ended_at is not null or new.ended_at is null or new.silence_id is not old.silence_id or new.rule is not old.rule
  or new.scope is not old.scope or new.until is not old.until or new.reason is not old.reason
  or new.created_at is not old.created_at or new.created_by is not old.created_by begin
  select raise(abort, 'a silence can only be ended, once');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger silence_delete before delete on silence begin
  select raise(abort, 'a silence can only be ended, once');
end;
-- +goose StatementEnd

-- Groups of providers that were switched. What was before is in the audit.
create table provider (
  group_name  text not null primary key,
  active      text not null check (active <> ''),
  since       integer not null,
  switched_by text not null,
  reason      text,
  alert_id    blob check (length(alert_id) = 16) -- null: a person did
) strict, without rowid;

-- +goose StatementBegin
create trigger provider_insert before insert on provider
when exists (select 1 from provider where group_name = new.group_name) begin
  select raise(abort, 'a switch is from one provider of a group to another');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger provider_update before update on provider
when new.group_name is not old.group_name or new.active = old.active begin
  select raise(abort, 'a switch is from one provider of a group to another');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger provider_delete before delete on provider begin
  select raise(abort, 'a switch is from one provider of a group to another');
end;
-- +goose StatementEnd

-- Activity: what happened to errors, by minute and by hour.
create table activity_minute (
  minute     integer not null,
  table_name text not null,
  reported   integer not null,
  parked     integer not null,
  escalated  integer not null,
  attempts   integer not null,
  succeeded  integer not null,
  retried    integer not null,
  exhausted  integer not null,
  expired    integer not null,
  archived   integer not null,
  primary key (minute, table_name),
  check (min(reported, parked, escalated, attempts, succeeded, retried, exhausted, expired, archived) >= 0)
) strict, without rowid;
create table activity_hour (
  hour       integer not null,
  table_name text not null,
  reported   integer not null,
  parked     integer not null,
  escalated  integer not null,
  attempts   integer not null,
  succeeded  integer not null,
  retried    integer not null,
  exhausted  integer not null,
  expired    integer not null,
  archived   integer not null,
  primary key (hour, table_name),
  check (min(reported, parked, escalated, attempts, succeeded, retried, exhausted, expired, archived) >= 0)
) strict, without rowid;

-- The outbox as a list, newest first; what is put in again names what was given
-- up.
alter table outbox add column resend_of blob check (length(resend_of) = 16);
create index outbox_list_idx on outbox (created_at, notice_id);
create index outbox_waiting_idx on outbox (created_at, notice_id) where due_at is not null;
create index outbox_given_up_idx on outbox (created_at, notice_id) where given_up_at is not null;
-- +goose StatementBegin
create trigger outbox_resent before update on outbox when new.resend_of is not old.resend_of begin
  select raise(abort, 'what a notice says is permanent');
end;
-- +goose StatementEnd
