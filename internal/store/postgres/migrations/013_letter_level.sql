-- +goose Up
-- How staged work stands, at a glance: open dead letters by pipeline, class and
-- step, and what has become of the items of replays, as deltas that the leader
-- folds. A closed dead letter counts for nothing, so the counts do not grow with
-- what was.
create table recoup.dead_letter_level (
  pipeline    text collate "C" not null,
  error_class text collate "C" not null,
  step        text collate "C" not null,
  n           bigint not null
);
insert into recoup.dead_letter_level
  select pipeline, error_class, step, count(*) from recoup.dead_letter where closed_at is null group by 1, 2, 3;

create table recoup.replay_outcome (
  state text collate "C" not null,
  n     bigint not null
);
insert into recoup.replay_outcome
  select state, sum(n) from recoup.replay_count where state not in ('PENDING', 'RELEASED') group by 1 having sum(n) <> 0;

-- Whether what failed could be retried, and its budget was spent. It belongs to the
-- round, and of rounds before this was kept nobody knows.
alter table recoup.dead_letter add column exhausted boolean not null default false;
-- +goose StatementBegin
create function recoup.exhaustion_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'RC001', message = 'only a new round fails otherwise';
end $$;
-- +goose StatementEnd
create trigger guard_exhausted before update on recoup.dead_letter for each row
  when (new.exhausted <> old.exhausted and new.round = old.round) execute function recoup.exhaustion_guard();

-- The alerts of a rule that people were told of.
create index alert_told_idx on recoup.alert (rule, coalesce(scope, ''), pending_at, alert_id) where notified > 0;

-- What waits to be told and has an end or is one: nobody hears of an end before they
-- have heard of the beginning.
create index outbox_span_idx on recoup.outbox (kind, error_id)
  where due_at is not null and kind in ('PAGE', 'ALERT', 'JOB_LATE', 'JOB_RECOVERED');

-- Whose turn it is to be triaged: the one that has waited longest is its front.
create index dead_letter_untriaged_idx on recoup.dead_letter (updated_at) where step = 'NEW' and closed_at is null;

-- +goose StatementBegin
create function recoup.letter_levels_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  insert into recoup.dead_letter_level select pipeline, error_class, step, count(*) from added group by 1, 2, 3;
  return null;
end $$;

create function recoup.letter_levels_changed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  insert into recoup.dead_letter_level
    select pipeline, error_class, step, sum(d) from (
      select pipeline, error_class, step, 1 as d from changed where closed_at is null
      union all select pipeline, error_class, step, -1 from was where closed_at is null) m
    group by 1, 2, 3 having sum(d) <> 0;
  return null;
end $$;

-- An outcome is final, so what has one now has just got it.
create function recoup.outcomes_changed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  insert into recoup.replay_outcome select state, count(*) from changed where ended_at is not null group by 1;
  return null;
end $$;
-- +goose StatementEnd
create trigger level_insert after insert on recoup.dead_letter referencing new table as added
  for each statement execute function recoup.letter_levels_added();
create trigger level_update after update on recoup.dead_letter referencing old table as was new table as changed
  for each statement execute function recoup.letter_levels_changed();
create trigger outcome_update after update on recoup.replay_item referencing new table as changed
  for each statement execute function recoup.outcomes_changed();

-- The keys that payloads are sealed and tenants are hashed with can themselves be
-- sealed by a key that is not in the database, and then say by which. All live ones
-- that are sealed are sealed by the same one, and from the first of them on no bare
-- one is added: else no node could use them all.
alter table recoup.platform_key add column wrapped_by text collate "C";
-- +goose StatementBegin
create or replace function recoup.platform_key_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if new.deleted_at is null and exists (
    select from recoup.platform_key where deleted_at is null and key_id <> new.key_id and wrapped_by <> coalesce(new.wrapped_by, '')) then
    raise exception using errcode = 'RC001', message = 'live platform keys are wrapped by another key';
  end if;
  if tg_op = 'INSERT' then
    if new.deleted_at is not null then
      raise exception using errcode = 'RC001', message = 'a key begins with a secret';
    end if;
    return new;
  end if;
  if old.deleted_at is not null
    or (new.key_id, new.purpose, new.created_at) is distinct from (old.key_id, old.purpose, old.created_at)
    or new.deleted_at is null and (new.wrapped_by is null or old.wrapped_by is not null)
    or new.deleted_at is not null and new.wrapped_by is distinct from old.wrapped_by then
    raise exception using errcode = 'RC001', message = 'of a platform key the secret can be deleted, and before that wrapped by another key, once each';
  end if;
  return new;
end $$;
-- +goose StatementEnd
