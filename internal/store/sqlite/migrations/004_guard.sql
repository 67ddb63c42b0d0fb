-- +goose Up
-- What the documents forbid is refused here, to every connection: triggers and
-- checks stand in the file. A connection of somebody else does not have
-- recursive_triggers on, and so REPLACE would delete rows without a word; hence
-- every guarded table refuses an insert, before it happens, that meets a row.
--
-- In a trigger before the insert a rowid that the statement leaves open reads
-- as -1; the triggers after it refuse a row that truly has such a number.

-- The promotion gate: when an error begins to block its entity and when it ends,
-- by a number that tells what came first, because one at a time writes.
create table gate_log (
  entity_id text not null,
  seq       integer not null check (seq > 0),
  error_id  blob not null check (length(error_id) = 16),
  blocks    integer not null check (blocks in (0, 1)), -- it begins to block, or it ends
  at        integer not null,
  primary key (entity_id, seq)
) strict, without rowid;

-- The last number that was drawn, for the gate's log or for a promotion.
create table gate_number (
  one integer primary key check (one = 1),
  seq integer not null
) strict;
insert into gate_number values (1, 0);

-- The next one.
create view gate_next as select seq + 1 as seq from gate_number;

create table promotion (
  seq          integer primary key check (seq > 0),
  promotion_id blob not null unique check (length(promotion_id) = 16),
  entity_id    text not null,
  phase        text not null,
  promoted_by  text not null,
  promoted_at  integer not null
) strict;
create index promotion_entity_idx on promotion (entity_id, seq);

-- +goose StatementBegin
create trigger promotion_numbered after insert on promotion begin
  update gate_number set seq = new.seq where seq < new.seq;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_number_update before update on gate_number when new.one <> 1 or new.seq <= old.seq begin
  select raise(abort, 'the gate''s numbers only grow');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_number_insert before insert on gate_number begin
  select raise(abort, 'the gate''s numbers only grow');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_number_delete before delete on gate_number begin
  select raise(abort, 'the gate''s numbers only grow');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_log_insert before insert on gate_log
when exists (select 1 from gate_log where entity_id = new.entity_id and seq = new.seq) begin
  select raise(abort, 'the gate''s log is never rewritten');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_log_update before update on gate_log begin
  select raise(abort, 'the gate''s log is never rewritten');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_log_delete before delete on gate_log begin
  select raise(abort, 'the gate''s log is never rewritten');
end;
-- +goose StatementEnd

-- +goose StatementBegin
create trigger promotion_insert before insert on promotion begin
  select case
    when exists (select 1 from promotion where seq = new.seq)
      or exists (select 1 from promotion where promotion_id = new.promotion_id)
      then raise(abort, 'this promotion is recorded already')
    when exists (select 1 from error where entity_id = new.entity_id and blocking)
      then raise(abort, 'an error blocks this entity')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger promotion_update before update on promotion begin
  select raise(abort, 'a promotion is permanent');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger promotion_delete before delete on promotion begin
  select raise(abort, 'a promotion is permanent');
end;
-- +goose StatementEnd

-- An error is held to its table when it comes.
-- +goose StatementBegin
create trigger error_insert before insert on error begin
  select case
    when exists (select 1 from error where error_id = new.error_id) or exists (select 1 from error where rowid = new.rowid)
      then raise(abort, 'this error exists already')
    when exists (select 1 from error_archive where error_id = new.error_id)
      then raise(abort, 'this error is in the archive')
    when new.replaceable and exists (select 1 from error
        where coalesce(reported_table, table_name) = coalesce(new.reported_table, new.table_name)
          and entity_id = new.entity_id and code = new.code and replaceable)
      then raise(abort, 'an error of this table, entity and code is open')
    when not exists (select 1 from error_table where table_name = new.table_name and (not retired or new.policy_version is not null))
      then raise(abort, 'this is not a governed table')
    when new.state = 'RESOLVED'
      then raise(abort, 'no error is born resolved')
    when new.policy_version is null and new.state <> 'ACTIVE'
      then raise(abort, 'what is not admitted yet is ACTIVE')
    when not exists (select 1 from error_table_disposition
        where table_name = new.table_name and disposition = new.disposition)
      then raise(abort, 'the table does not allow this disposition')
    when exists (select 1 from error_table t where t.table_name = new.table_name
        and new.blocking <> (t.blocks and new.entity_id is not null and new.disposition in ('RETRY', 'PARKED'))
        and (new.blocking and (new.entity_id is null or new.disposition not in ('RETRY', 'PARKED'))
          or coalesce(new.policy_version, t.policy_version) = t.policy_version))
      then raise(abort, 'blocking is not what the table says')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_inserted after insert on error when new.rowid < 1 or (select batch from tally) is not 1 begin
  select raise(abort, 'a row number is positive') where new.rowid < 1;
  insert into error_count
    select new.table_name, new.state, ttl, 1, new.blocking, iif(ttl > 0, new.created_at / 1000000, 0), iif(ttl > 0, new.created_at % 1000000, 0)
    from (select iif(new.state <> 'RESOLVED' and new.expires_at > new.created_at, new.expires_at - new.created_at, 0) as ttl) where true
    on conflict (table_name, state, ttl_us) do update set n = n + excluded.n, blocking = blocking + excluded.blocking,
      born_s = born_s + excluded.born_s, born_us = born_us + excluded.born_us;
  update gate_number set seq = seq + 1 where new.blocking;
  insert into gate_log (entity_id, seq, error_id, blocks, at)
    select new.entity_id, seq, new.error_id, 1, new.updated_at from gate_number where new.blocking;
end;
-- +goose StatementEnd

-- What must not change does not, and what is over does not come back. A trigger
-- names the columns that it is about where it can: a statement that does not set
-- them does not ask.
-- +goose StatementBegin
create trigger error_permanent before update of error_id, table_name, reported_table, entity_id, code, created_at, correlation_id on error begin
  select case
    when new.error_id is not old.error_id
      then raise(abort, 'an error keeps its id')
    when new.table_name is not old.table_name or new.entity_id is not old.entity_id or new.code is not old.code
      or new.created_at is not old.created_at or new.correlation_id is not old.correlation_id
      or new.reported_table is not old.reported_table
      then raise(abort, 'what an error is and when it was made is permanent')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_over before update on error
when old.state = 'RESOLVED' or new.rowid <> old.rowid
  or old.policy_version is not null and (select ttl is null from error_table where table_name = old.table_name) begin
  select case
    when new.rowid <> old.rowid then raise(abort, 'an error keeps its id')
    when old.state = 'RESOLVED' then raise(abort, 'this error is resolved')
    else raise(abort, 'errors of this table are kept as they are')
  end;
end;
-- +goose StatementEnd

-- An error is what its table allows, and it is resolved together with the row of its
-- history that says so, which is written first. A row that plain SQL has written is
-- admitted once, whatever its table.
-- +goose StatementBegin
create trigger error_ruled before update of state, disposition, blocking, policy_version, replaceable, resolved_at on error begin
  select case
    when old.policy_version is not null and new.policy_version is null
      then raise(abort, 'this error is admitted')
    when new.disposition is not old.disposition and not exists (select 1 from error_table_disposition
        where table_name = new.table_name and disposition = new.disposition)
      then raise(abort, 'the table does not allow this disposition')
    when (new.blocking or new.disposition in ('RETRY', 'PARKED')) and exists (select 1 from error_table t where t.table_name = new.table_name
        and new.blocking <> (t.blocks and new.entity_id is not null and new.disposition in ('RETRY', 'PARKED'))
        and (new.blocking and (new.entity_id is null or new.disposition not in ('RETRY', 'PARKED'))
          or coalesce(new.policy_version, t.policy_version) = t.policy_version
          or new.blocking <> old.blocking and new.policy_version = old.policy_version
            and (new.disposition in ('RETRY', 'PARKED')) = (old.disposition in ('RETRY', 'PARKED'))))
      then raise(abort, 'blocking is not what the table says')
    when new.replaceable and not old.replaceable and exists (select 1 from error
        where coalesce(reported_table, table_name) = coalesce(new.reported_table, new.table_name)
          and entity_id = new.entity_id and code = new.code and replaceable)
      then raise(abort, 'an error of this table, entity and code is open')
    when new.state = 'RESOLVED' and not exists (select 1 from error_history
        where error_id = new.error_id and at = new.resolved_at and state = 'RESOLVED')
      then raise(abort, 'an error is resolved together with the row of its history that says who did and why')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_moved after update of state, blocking, expires_at on error
when (new.state <> old.state or new.blocking <> old.blocking or new.expires_at is not old.expires_at) and (select batch from tally) is not 1 begin
  insert into error_count
    select old.table_name, old.state, ttl, -1, -old.blocking, -iif(ttl > 0, old.created_at / 1000000, 0), -iif(ttl > 0, old.created_at % 1000000, 0)
    from (select iif(old.state <> 'RESOLVED' and old.expires_at > old.created_at, old.expires_at - old.created_at, 0) as ttl) where true
    on conflict (table_name, state, ttl_us) do update set n = n + excluded.n, blocking = blocking + excluded.blocking,
      born_s = born_s + excluded.born_s, born_us = born_us + excluded.born_us;
  insert into error_count
    select new.table_name, new.state, ttl, 1, new.blocking, iif(ttl > 0, new.created_at / 1000000, 0), iif(ttl > 0, new.created_at % 1000000, 0)
    from (select iif(new.state <> 'RESOLVED' and new.expires_at > new.created_at, new.expires_at - new.created_at, 0) as ttl) where true
    on conflict (table_name, state, ttl_us) do update set n = n + excluded.n, blocking = blocking + excluded.blocking,
      born_s = born_s + excluded.born_s, born_us = born_us + excluded.born_us;
  update gate_number set seq = seq + 1 where new.blocking <> old.blocking;
  insert into gate_log (entity_id, seq, error_id, blocks, at)
    select new.entity_id, seq, new.error_id, new.blocking, new.updated_at from gate_number where new.blocking <> old.blocking;
end;
-- +goose StatementEnd

-- An error leaves its table only for the archive, and some never do.
-- +goose StatementBegin
create trigger error_delete before delete on error
when not exists (select 1 from error_archive where error_id = old.error_id)
  or (select ttl is null from error_table where table_name = old.table_name) begin
  select case
    when not exists (select 1 from error_archive where error_id = old.error_id)
      then raise(abort, 'an error leaves its table only for the archive')
    else raise(abort, 'errors of this table are kept for ever')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_deleted after delete on error when (select batch from tally) is not 1 begin
  insert into error_count
    select old.table_name, old.state, ttl, -1, -old.blocking, -iif(ttl > 0, old.created_at / 1000000, 0), -iif(ttl > 0, old.created_at % 1000000, 0)
    from (select iif(old.state <> 'RESOLVED' and old.expires_at > old.created_at, old.expires_at - old.created_at, 0) as ttl) where true
    on conflict (table_name, state, ttl_us) do update set n = n + excluded.n, blocking = blocking + excluded.blocking,
      born_s = born_s + excluded.born_s, born_us = born_us + excluded.born_us;
  update gate_number set seq = seq + 1 where old.blocking;
  insert into gate_log (entity_id, seq, error_id, blocks, at)
    select old.entity_id, g.seq, old.error_id, 0, a.archived_at
      from gate_number g join error_archive a on a.error_id = old.error_id where old.blocking;
end;
-- +goose StatementEnd

-- What comes into the archive leaves its table by that very statement, and so is
-- never in both places or in none; whoever moves a whole batch does so in two, the
-- second of which finds in the archive what it deletes.
-- +goose StatementBegin
create trigger error_archived after insert on error_archive when new.rowid < 1 or (select batch from tally) is not 1 begin
  select raise(abort, 'a row number is positive') where new.rowid < 1;
  delete from error where error_id = new.error_id;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_archive_update before update on error_archive begin
  select raise(abort, 'the archive is never rewritten');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_archive_delete before delete on error_archive
when (select old.purge_at <= archive_until from retention) is not true begin
  select raise(abort, 'the retention of this error is not over');
end;
-- +goose StatementEnd
