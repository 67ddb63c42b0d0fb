-- +goose Up
-- +goose StatementBegin
-- Dead letters (spec 002): staged work that failed for good, kept beside its error
-- and worked off step by step, from triage to verification.
--
-- The guards look at whole statements and run as the schema's owner, as those of
-- errors do. Their settings keep plans good that are made for one row and reused for
-- thousands. Of a partial index the planner believes, until it has been analysed, that
-- it holds next to nothing, and would read it whole for every row: hence the settings,
-- the limits of one, and "is not distinct from" where an index would find a whole
-- replay instead of one item.

-- Groups.

-- Dead letters of the same pipeline, stage, class and normalised cause.
create table recoup.dead_letter_group (
  group_id      uuid primary key,
  pipeline      text collate "C" not null,
  stage         text collate "C" not null,
  error_class   text collate "C" not null,
  signature     text collate "C",
  owner         text,
  note          text,
  first_seen_at timestamptz not null,
  last_seen_at  timestamptz not null check (last_seen_at >= first_seen_at)
) with (fillfactor = 70);
-- By the end of an id, which people type.
create index dead_letter_group_id_end_idx on recoup.dead_letter_group (substr(uuid_send(group_id), 14));
create index dead_letter_group_seen_idx on recoup.dead_letter_group (last_seen_at, group_id);
create index dead_letter_group_pipeline_idx on recoup.dead_letter_group (pipeline, last_seen_at, group_id);

-- guard_group keeps a group what it is. Groups are never deleted.
create function recoup.guard_group() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.refuse('group ' || old.group_id || ': ' || case
    when row(new.group_id, new.pipeline, new.stage, new.error_class, new.signature, new.first_seen_at)
      is distinct from row(old.group_id, old.pipeline, old.stage, old.error_class, old.signature, old.first_seen_at)
      then 'what it is and since when is permanent'
    when new.last_seen_at < old.last_seen_at then 'time does not run backwards' end);
  return new;
end $$;
create trigger guard before update on recoup.dead_letter_group
  for each row execute function recoup.guard_group();
create trigger forbidden before delete on recoup.dead_letter_group for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.dead_letter_group for each statement execute function recoup.forbid();

-- How many dead letters a group has and has gained on which day, as deltas that the
-- leader folds; a reader adds up what is there.
create table recoup.dead_letter_count (
  group_id uuid not null,
  day      date not null,
  arrived  bigint not null,
  open     bigint not null
);
create index dead_letter_count_idx on recoup.dead_letter_count (group_id, day);

-- Open dead letters by pipeline, class and step, as such deltas. A closed dead letter
-- counts for nothing, so the counts do not grow with what was.
create table recoup.dead_letter_level (
  pipeline    text collate "C" not null,
  error_class text collate "C" not null,
  step        text collate "C" not null,
  n           bigint not null
);

-- Dead letters.

-- What an error carries of its work. Stage, class, signature and exhausted are those
-- of the present round.
create table recoup.dead_letter (
  error_id         uuid primary key,
  work_id          uuid not null,
  pipeline         text collate "C" not null,
  stage            text collate "C" not null,
  error_class      text collate "C" not null,
  signature        text collate "C",
  group_id         uuid not null,
  step             text collate "C" not null
                   check (step in ('NEW', 'TRIAGED', 'REMEDIATED', 'VALIDATED', 'REPLAYING', 'REPLAYED', 'VERIFIED')),
  cause            text check (cause in ('TRANSIENT', 'DATA', 'AUTH_CONFIG', 'CODE_DEFECT')),
  round            int not null check (round > 0),
  first_failure_at timestamptz not null,
  last_failure_at  timestamptz not null check (last_failure_at >= first_failure_at),
  payload_ref      text,
  payload_hash     text,
  previous_id      uuid,        -- the closed dead letter of the same work before it
  held_expiry      timestamptz, -- when the error would expire, were it not part of a replay
  created_at       timestamptz not null,
  updated_at       timestamptz not null,
  closed_at        timestamptz, -- verified, or archived
  exhausted        boolean not null default false, -- it could be retried, and its budget was spent
  constraint dead_letter_verified check (step <> 'VERIFIED' or closed_at is not null),
  constraint dead_letter_triaged check (step = 'NEW' or cause is not null)
) with (fillfactor = 70);
-- By the end of an id, which people type.
create index dead_letter_id_end_idx on recoup.dead_letter (substr(uuid_send(error_id), 14));
-- One open dead letter for a piece of work, and the closed ones before it.
create unique index dead_letter_open_key on recoup.dead_letter (work_id) where closed_at is null;
create index dead_letter_work_idx on recoup.dead_letter (work_id, created_at);
create index dead_letter_list_idx on recoup.dead_letter (created_at, error_id) where closed_at is null;
create index dead_letter_pipeline_idx on recoup.dead_letter (pipeline, created_at, error_id) where closed_at is null;
create index dead_letter_stage_idx on recoup.dead_letter (stage, created_at, error_id) where closed_at is null;
create index dead_letter_class_idx on recoup.dead_letter (error_class, created_at, error_id) where closed_at is null;
create index dead_letter_group_idx on recoup.dead_letter (group_id, created_at, error_id) where closed_at is null;
create index dead_letter_step_idx on recoup.dead_letter (step, created_at, error_id);
-- The one that has waited longest for triage is its front.
create index dead_letter_untriaged_idx on recoup.dead_letter (updated_at) where step = 'NEW' and closed_at is null;

-- dead_letters_added holds new dead letters to their error and their group, and counts.
create function recoup.dead_letters_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if tg_relid <> 'recoup.dead_letter'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform recoup.refuse(min('dead letter ' || a.error_id || ': ' || case
      when not exists (select from recoup.error e join recoup.error_table t using (table_name)
        where e.error_id = a.error_id and t.dead_letter) then 'it stands beside an error of a table of dead letters'
      when a.step <> 'NEW' or a.round <> 1 or a.closed_at is not null then 'it begins new'
      when a.previous_id is not null and not exists (select from recoup.dead_letter p
        where p.error_id = a.previous_id and p.work_id = a.work_id and p.closed_at is not null)
        then 'the one before it is a closed one of the same work'
      when not exists (select from recoup.dead_letter_group g where g.group_id = a.group_id and g.pipeline = a.pipeline
        and g.stage = a.stage and g.error_class = a.error_class and g.signature is not distinct from a.signature)
        then 'it belongs to the group of its kind' end))
    from added a;
  insert into recoup.dead_letter_count
    select group_id, (updated_at at time zone 'UTC')::date, count(*), count(*) from added group by 1, 2;
  insert into recoup.dead_letter_level select pipeline, error_class, step, count(*) from added group by 1, 2, 3;
  return null;
end $$;
create trigger guard_insert after insert on recoup.dead_letter referencing new table as added
  for each statement execute function recoup.dead_letters_added();

-- dead_letters_changed holds them to the order of their rounds and steps, and counts.
create function recoup.dead_letters_changed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off set enable_nestloop = off as $$
declare
  steps constant text[] := '{NEW,TRIAGED,REMEDIATED,VALIDATED,REPLAYING,REPLAYED,VERIFIED}';
begin
  if tg_relid <> 'recoup.dead_letter'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform recoup.refuse(min('dead letter ' || n.error_id || ': ' || case
      when o.error_id is null
        or row(n.work_id, n.pipeline, n.payload_ref, n.payload_hash, n.previous_id, n.created_at)
          is distinct from row(o.work_id, o.pipeline, o.payload_ref, o.payload_hash, o.previous_id, o.created_at)
        then 'what it is and when it was made is permanent'
      when o.closed_at is not null then 'it is closed'
      when n.round not in (o.round, o.round + 1) then 'rounds come one by one'
      when n.round > o.round and n.step <> 'NEW' then 'a round begins new'
      when n.round = o.round and row(n.stage, n.error_class, n.signature, n.exhausted) is distinct from row(o.stage, o.error_class, o.signature, o.exhausted)
        then 'only a new round fails otherwise'
      when n.round = o.round and array_position(steps, n.step) > array_position(steps, o.step) + 1 then 'no step is skipped'
      when (n.step = 'REPLAYING') <> ((select 1 from recoup.replay_item i where i.error_id = n.error_id
        and i.state in ('PENDING', 'RELEASED') limit 1) is not null) and n.closed_at is null
        then 'it is REPLAYING exactly while it is part of a replay'
      when n.closed_at is not null and exists (select from recoup.error e where e.error_id = n.error_id and e.state <> 'RESOLVED')
        then 'what is closed is resolved or archived'
      when n.group_id is distinct from o.group_id and not exists (select from recoup.dead_letter_group g
        where g.group_id = n.group_id and g.pipeline = n.pipeline
        and g.stage = n.stage and g.error_class = n.error_class and g.signature is not distinct from n.signature)
        then 'it belongs to the group of its kind' end))
    from changed n left join was o using (error_id);
  insert into recoup.dead_letter_count
    select group_id, day, sum(arrived), sum(open) from (
      select n.group_id, (n.updated_at at time zone 'UTC')::date as day, (n.round > o.round)::int as arrived,
        (n.closed_at is null)::int as open from changed n join was o using (error_id)
      union all
      select o.group_id, (n.updated_at at time zone 'UTC')::date, 0, -(o.closed_at is null)::int
        from changed n join was o using (error_id)) m
     group by 1, 2 having sum(arrived) <> 0 or sum(open) <> 0;
  insert into recoup.dead_letter_level
    select pipeline, error_class, step, sum(d) from (
      select pipeline, error_class, step, 1 as d from changed where closed_at is null
      union all select pipeline, error_class, step, -1 from was where closed_at is null) m
     group by 1, 2, 3 having sum(d) <> 0;
  return null;
end $$;
create trigger guard_update after update on recoup.dead_letter referencing old table as was new table as changed
  for each statement execute function recoup.dead_letters_changed();

-- letters_deleted keeps a dead letter and its rounds as long as its error or its
-- archive row is there.
create function recoup.letters_deleted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if tg_relid not in ('recoup.dead_letter'::regclass, 'recoup.dead_letter_round'::regclass) then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform recoup.refuse('dead letter ' || min(g.error_id::text) || ': it is kept as long as its error')
    from gone g where exists (select from recoup.error e where e.error_id = g.error_id)
      or exists (select from recoup.error_archive a where a.error_id = g.error_id);
  return null;
end $$;
create trigger guard_delete after delete on recoup.dead_letter referencing old table as gone
  for each statement execute function recoup.letters_deleted();
create trigger forbidden_truncate before truncate on recoup.dead_letter for each statement execute function recoup.forbid();

-- Rounds and notes: written once, never changed.

-- Every failure for good, with what is known of it.
create table recoup.dead_letter_round (
  error_id         uuid not null,
  round            int not null check (round > 0),
  replay_id        uuid, -- the replay that ended so
  stage            text not null,
  error_class      text not null,
  signature        text,
  last_stack       text,
  context          json,
  first_failure_at timestamptz not null,
  last_failure_at  timestamptz not null,
  at               timestamptz not null,
  primary key (error_id, round)
);

create function recoup.rounds_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if tg_relid <> 'recoup.dead_letter_round'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform recoup.refuse('dead letter ' || min(a.error_id::text) || ': this is not its round')
    from added a where not exists (select from recoup.dead_letter d
      where d.error_id = a.error_id and d.round >= a.round and d.closed_at is null);
  return null;
end $$;
create trigger guard_insert after insert on recoup.dead_letter_round referencing new table as added
  for each statement execute function recoup.rounds_added();
create trigger guard_delete after delete on recoup.dead_letter_round referencing old table as gone
  for each statement execute function recoup.letters_deleted();
create trigger forbidden before update on recoup.dead_letter_round for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.dead_letter_round for each statement execute function recoup.forbid();

-- Who did what about a dead letter, a replay or a group, and why.
create table recoup.dead_letter_note (
  seq       bigint generated always as identity primary key,
  error_id  uuid,
  replay_id uuid,
  group_id  uuid,
  round     int not null default 0,
  step      text not null,
  actor     text not null,
  at        timestamptz not null,
  note      text,
  link      text,
  fields    json,
  constraint dead_letter_note_subject check (num_nonnulls(error_id, replay_id, group_id) = 1)
);
create index dead_letter_note_error_idx on recoup.dead_letter_note (error_id, seq) where error_id is not null;
create index dead_letter_note_replay_idx on recoup.dead_letter_note (replay_id, seq) where replay_id is not null;
create index dead_letter_note_group_idx on recoup.dead_letter_note (group_id, seq) where group_id is not null;

create function recoup.notes_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if tg_relid <> 'recoup.dead_letter_note'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform recoup.refuse('note ' || min(a.seq) || ': it is about nothing that exists')
    from added a where not (exists (select from recoup.dead_letter d where d.error_id = a.error_id)
      or exists (select from recoup.replay r where r.replay_id = a.replay_id)
      or exists (select from recoup.dead_letter_group r where r.group_id = a.group_id));
  return null;
end $$;
create trigger guard_insert after insert on recoup.dead_letter_note referencing new table as added
  for each statement execute function recoup.notes_added();

create function recoup.notes_deleted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if tg_relid <> 'recoup.dead_letter_note'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform recoup.refuse('note ' || min(g.seq) || ': it is kept as long as what it is about')
    from gone g where exists (select from recoup.dead_letter d where d.error_id = g.error_id)
      or exists (select from recoup.replay r where r.replay_id = g.replay_id)
      or exists (select from recoup.dead_letter_group r where r.group_id = g.group_id);
  return null;
end $$;
create trigger guard_delete after delete on recoup.dead_letter_note referencing old table as gone
  for each statement execute function recoup.notes_deleted();
create trigger forbidden before update on recoup.dead_letter_note for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.dead_letter_note for each statement execute function recoup.forbid();

-- close_letters closes the dead letters that end with errors which are archived, as it
-- was decided, and refuses to leave one open, or the item of a replay.
create function recoup.close_letters(ids uuid[], letters uuid[], decisions jsonb, at timestamptz) returns void language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
  if not exists (select from jsonb_to_recordset(decisions) as m (table_name text) join recoup.error_table t using (table_name) where t.dead_letter) then
    return;
  end if;
  perform recoup.refuse('error ' || min(i.error_id::text) || ': it is part of a replay')
    from recoup.replay_item i where i.error_id = any (ids) and i.state in ('PENDING', 'RELEASED')
      and not exists (select from recoup.error e where e.error_id = i.error_id);
  update recoup.dead_letter d set closed_at = at, updated_at = at where d.error_id = any (letters) and d.closed_at is null;
  perform recoup.refuse('error ' || min(d.error_id::text) || ': its dead letter is open, and is closed when it is archived')
    from recoup.dead_letter d where d.error_id = any (ids) and d.closed_at is null
      and not exists (select from recoup.error e where e.error_id = d.error_id);
end $$;
-- +goose StatementEnd
