-- +goose Up
-- +goose StatementBegin
-- Alerts, silences, the providers in use, and the outbox of notifications.

-- An episode: a rule holds for a scope, from when to when.
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
-- By the end of an id, which people type.
create index alert_id_end_idx on alert (substr(alert_id, 14));
create unique index alert_open_key on alert (rule, coalesce(scope, '')) where state <> 'RESOLVED';
create index alert_list_idx on alert (pending_at, alert_id);
create index alert_open_list_idx on alert (pending_at, alert_id) where state <> 'RESOLVED';
create index alert_rule_idx on alert (rule, pending_at, alert_id);
create index alert_scope_idx on alert (scope, pending_at, alert_id) where scope is not null;
create index alert_resolved_idx on alert (resolved_at) where resolved_at is not null;
-- The alerts of a rule that people were notified of.
create index alert_notified_idx on alert (rule, coalesce(scope, ''), pending_at, alert_id) where notified > 0;

-- An episode stays what it was, and is over once it is over.
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
create trigger alert_update before update on alert begin
  select case
    when old.state = 'RESOLVED'
      then raise(abort, 'this alert is resolved')
    when new.alert_id is not old.alert_id or new.rule is not old.rule or new.scope is not old.scope or new.pending_at is not old.pending_at
      then raise(abort, 'what an alert is about and when it began is permanent')
    when old.fired_at is not null and new.fired_at is not old.fired_at
      then raise(abort, 'it fired when it fired')
    when new.notified < old.notified
      then raise(abort, 'what people were notified of stays')
  end;
end;
create trigger alert_delete before delete on alert
when (select old.resolved_at < alert_until from retention) is not true begin
  select raise(abort, 'an alert is deleted only when it is long over');
end;

-- Nobody is notified of what a silence covers.
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
-- By the end of an id, which people type.
create index silence_id_end_idx on silence (substr(silence_id, 14));
create index silence_list_idx on silence (created_at, silence_id);
create index silence_until_idx on silence (until) where ended_at is null;

-- It can be ended, once; and it is purged with the alerts of its time.
create trigger silence_insert before insert on silence begin
  select case
    when exists (select 1 from silence where silence_id = new.silence_id)
      then raise(abort, 'this silence exists already')
    when new.ended_at is not null
      then raise(abort, 'a silence begins before it ends')
  end;
end;
create trigger silence_update before update on silence
when old.ended_at is not null or new.ended_at is null or new.silence_id is not old.silence_id or new.rule is not old.rule
  or new.scope is not old.scope or new.until is not old.until or new.reason is not old.reason
  or new.created_at is not old.created_at or new.created_by is not old.created_by begin
  select raise(abort, 'a silence can only be ended, once');
end;
create trigger silence_delete before delete on silence
when (select old.until < alert_until from retention) is not true begin
  select raise(abort, 'a silence is deleted only when it is long over');
end;

-- Groups of providers that were switched. What was before is in the audit.
create table provider (
  group_name  text not null primary key,
  active      text not null check (active <> ''),
  since       integer not null,
  switched_by text not null,
  reason      text,
  alert_id    blob check (length(alert_id) = 16) -- null: a person did
) strict, without rowid;

create trigger provider_insert before insert on provider
when exists (select 1 from provider where group_name = new.group_name) begin
  select raise(abort, 'a switch is from one provider of a group to another');
end;
create trigger provider_update before update on provider
when new.group_name is not old.group_name or new.active = old.active begin
  select raise(abort, 'a switch is from one provider of a group to another');
end;
create trigger provider_delete before delete on provider begin
  select raise(abort, 'a switch is from one provider of a group to another');
end;

-- The outbox: notifications, written in the commit that caused them. One waits, or is
-- delivered, or is given up as undeliverable.
create table outbox (
  notice_id    blob not null primary key default (randomblob(16)) check (length(notice_id) = 16),
  kind         text not null,
  recipient    text not null,
  error_id     blob check (length(error_id) = 16),
  created_at   integer not null,
  due_at       integer, -- null: delivered or given up
  attempts     integer not null default 0,
  delivered_at integer,
  last_error   text,
  body         text check (body is null or json_valid(body)),
  dedup_key    text, -- of what is sent once
  given_up_at  integer,
  resend_of    blob check (length(resend_of) = 16), -- the given up one that it is a requeue of
  constraint outbox_end check ((due_at is not null) + (delivered_at is not null) + (given_up_at is not null) = 1)
) strict;
-- By the end of an id, which people type.
create index outbox_id_end_idx on outbox (substr(notice_id, 14));
create index outbox_due_idx on outbox (due_at) where due_at is not null;
create unique index outbox_dedup_key on outbox (dedup_key) where dedup_key is not null;
create index outbox_end_idx on outbox (coalesce(delivered_at, given_up_at)) where due_at is null;
-- As a list, newest first.
create index outbox_list_idx on outbox (created_at, notice_id);
create index outbox_waiting_idx on outbox (created_at, notice_id) where due_at is not null;
create index outbox_given_up_idx on outbox (created_at, notice_id) where given_up_at is not null;
-- What waits and has an end or is one: nobody is notified of an end before they were
-- of the beginning.
create index outbox_span_idx on outbox (kind, error_id)
  where due_at is not null and kind in ('PAGE', 'ALERT', 'JOB_LATE', 'JOB_RECOVERED');

-- A notification stays what it is, and its attempts are counted.
create trigger outbox_insert before insert on outbox
when exists (select 1 from outbox where notice_id = new.notice_id) or exists (select 1 from outbox where rowid = new.rowid)
  or exists (select 1 from outbox where dedup_key = new.dedup_key) begin
  select raise(abort, 'this notice exists already');
end;
create trigger outbox_inserted after insert on outbox when new.rowid < 1 begin
  select raise(abort, 'a row number is positive');
end;
create trigger outbox_update before update on outbox begin
  select case
    when old.due_at is null
      then raise(abort, 'this notice is delivered or given up')
    when new.notice_id is not old.notice_id or new.rowid is not old.rowid or new.kind is not old.kind
      or new.recipient is not old.recipient or new.error_id is not old.error_id or new.created_at is not old.created_at
      or new.dedup_key is not old.dedup_key or new.body is not old.body or new.resend_of is not old.resend_of
      then raise(abort, 'what a notice says is permanent')
    when new.attempts not in (old.attempts, old.attempts + 1)
      then raise(abort, 'attempts are counted one by one')
  end;
end;
create trigger outbox_delete before delete on outbox when old.due_at is not null begin
  select raise(abort, 'a notice that waits is not deleted');
end;
-- +goose StatementEnd
