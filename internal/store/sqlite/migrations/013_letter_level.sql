-- +goose Up
-- How staged work stands, at a glance: open dead letters by pipeline, class and
-- step, and what has become of the items of replays. A closed dead letter counts
-- for nothing, so the counts do not grow with what was.
create table dead_letter_level (
  pipeline    text not null,
  error_class text not null,
  step        text not null,
  n           integer not null,
  primary key (pipeline, error_class, step)
) strict, without rowid;
insert into dead_letter_level
  select pipeline, error_class, step, count(*) from dead_letter where closed_at is null group by 1, 2, 3;

create table replay_outcome (
  state text not null primary key,
  n     integer not null
) strict, without rowid;
insert into replay_outcome
  select state, sum(n) from replay_count where state not in ('PENDING', 'RELEASED') group by 1 having sum(n) <> 0;

-- Whether what failed could be retried, and its budget was spent. It belongs to the
-- round, and of rounds before this was kept nobody knows.
alter table dead_letter add column exhausted integer not null default 0 check (exhausted in (0, 1));
-- +goose StatementBegin
create trigger dead_letter_exhausted before update of exhausted on dead_letter
when new.exhausted <> old.exhausted and new.round is old.round begin
  select raise(abort, 'only a new round fails otherwise');
end;
-- +goose StatementEnd

-- The alerts of a rule that people were told of.
create index alert_told_idx on alert (rule, coalesce(scope, ''), pending_at, alert_id) where notified > 0;

-- What waits to be told and has an end or is one: nobody hears of an end before they
-- have heard of the beginning.
create index outbox_span_idx on outbox (kind, error_id)
  where due_at is not null and kind in ('PAGE', 'ALERT', 'JOB_LATE', 'JOB_RECOVERED');

-- Whose turn it is to be triaged: the one that has waited longest is its front.
create index dead_letter_untriaged_idx on dead_letter (updated_at) where step = 'NEW' and closed_at is null;

-- +goose StatementBegin
create trigger dead_letter_level_inserted after insert on dead_letter when new.closed_at is null begin
  insert into dead_letter_level values (new.pipeline, new.error_class, new.step, 1) on conflict do update set n = n + 1;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger dead_letter_level_moved after update of step, error_class, closed_at on dead_letter
when old.closed_at is null
  and (new.step <> old.step or new.error_class <> old.error_class or new.closed_at is not null) begin
  update dead_letter_level set n = n - 1
    where pipeline = old.pipeline and error_class = old.error_class and step = old.step;
  delete from dead_letter_level
    where pipeline = old.pipeline and error_class = old.error_class and step = old.step and n = 0;
  insert into dead_letter_level select new.pipeline, new.error_class, new.step, 1 where new.closed_at is null
    on conflict do update set n = n + 1;
end;
-- +goose StatementEnd
-- An outcome is final, so what has one now has just got it.
-- +goose StatementBegin
create trigger replay_outcome_ended after update of state on replay_item when new.ended_at is not null and old.ended_at is null begin
  insert into replay_outcome values (new.state, 1) on conflict do update set n = n + 1;
end;
-- +goose StatementEnd

-- The keys that payloads are sealed and tenants are hashed with can themselves be
-- sealed by a key that is not in the database, and then say by which. All live ones
-- that are sealed are sealed by the same one, and from the first of them on no bare
-- one is added: else no node could use them all.
alter table platform_key add column wrapped_by text;
-- +goose StatementBegin
create trigger platform_key_alike before insert on platform_key
when exists (select 1 from platform_key where deleted_at is null and wrapped_by <> coalesce(new.wrapped_by, '')) begin
  select raise(abort, 'live platform keys are wrapped by another key');
end;
-- +goose StatementEnd
drop trigger platform_key_update;
-- +goose StatementBegin
create trigger platform_key_update before update on platform_key
when old.deleted_at is not null or new.key_id is not old.key_id or new.rowid is not old.rowid
  or new.purpose is not old.purpose or new.created_at is not old.created_at
  or new.deleted_at is null and (new.wrapped_by is null or old.wrapped_by is not null
    or exists (select 1 from platform_key where deleted_at is null and wrapped_by <> new.wrapped_by))
  or new.deleted_at is not null and new.wrapped_by is not old.wrapped_by begin
  select raise(abort, 'of a platform key the secret can be deleted, and before that wrapped by another key, once each');
end;
-- +goose StatementEnd
