-- +goose Up
-- What the documents forbid is refused here, to every connection: triggers and
-- checks stand in the file. A connection of somebody else does not have
-- recursive_triggers on, and so REPLACE would delete rows without a word; hence
-- every guarded table refuses an insert, before it happens, that meets a row.
--
-- In a trigger before the insert a rowid that the statement leaves open reads
-- as -1; the triggers after it refuse a row that truly has such a number.

-- The promotion gate. One writer at a time means that the numbers, drawn within
-- the writing transaction, tell what came first.
create table gate_log (
  seq       integer primary key check (seq > 0),
  entity_id text not null,
  error_id  blob not null check (length(error_id) = 16),
  blocks    integer not null check (blocks in (0, 1)), -- it begins to block, or it ends
  at        integer not null
) strict;
create index gate_log_entity_idx on gate_log (entity_id, seq);

create table promotion (
  seq          integer primary key check (seq > 0),
  promotion_id blob not null unique check (length(promotion_id) = 16),
  entity_id    text not null,
  phase        text not null,
  promoted_by  text not null,
  promoted_at  integer not null
) strict;
create index promotion_entity_idx on promotion (entity_id, seq);

-- The next number at the gate.
create view gate_next as
  select 1 + max(coalesce((select max(seq) from gate_log), 0), coalesce((select max(seq) from promotion), 0)) as seq;

-- +goose StatementBegin
create trigger gate_log_insert before insert on gate_log
when exists (select 1 from gate_log where seq = new.seq) begin
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
create trigger error_inserted after insert on error begin
  select raise(abort, 'a row number is positive') where new.rowid < 1;
  update error_count set n = n + 1 where table_name = new.table_name and state = new.state;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_blocks after insert on error when new.blocking begin
  insert into gate_log (seq, entity_id, error_id, blocks, at)
    select seq, new.entity_id, new.error_id, 1, new.updated_at from gate_next;
end;
-- +goose StatementEnd

-- What must not change does not, and what is over does not come back. A row that
-- plain SQL has written is admitted once, whatever its table.
-- +goose StatementBegin
create trigger error_update before update on error begin
  select case
    when new.error_id is not old.error_id or new.rowid is not old.rowid
      then raise(abort, 'an error keeps its id')
    when new.table_name is not old.table_name or new.entity_id is not old.entity_id or new.code is not old.code
      or new.created_at is not old.created_at or new.correlation_id is not old.correlation_id
      or new.reported_table is not old.reported_table
      then raise(abort, 'what an error is and when it was made is permanent')
    when old.state = 'RESOLVED'
      then raise(abort, 'this error is resolved')
    when old.policy_version is not null and new.policy_version is null
      then raise(abort, 'this error is admitted')
    when old.policy_version is not null and (select ttl is null from error_table where table_name = old.table_name)
      then raise(abort, 'errors of this table are kept as they are')
    when new.disposition is not old.disposition and not exists (select 1 from error_table_disposition
        where table_name = new.table_name and disposition = new.disposition)
      then raise(abort, 'the table does not allow this disposition')
    when exists (select 1 from error_table t where t.table_name = new.table_name
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
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_moved after update of state on error when new.state <> old.state begin
  update error_count set n = n - 1 where table_name = old.table_name and state = old.state;
  update error_count set n = n + 1 where table_name = new.table_name and state = new.state;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_gate after update of blocking on error when new.blocking <> old.blocking begin
  insert into gate_log (seq, entity_id, error_id, blocks, at)
    select seq, new.entity_id, new.error_id, new.blocking, new.updated_at from gate_next;
end;
-- +goose StatementEnd

-- An error leaves its table only for the archive.
-- +goose StatementBegin
create trigger error_delete before delete on error
when not exists (select 1 from error_archive where error_id = old.error_id) begin
  select raise(abort, 'an error leaves its table only for the archive');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_deleted after delete on error begin
  update error_count set n = n - 1 where table_name = old.table_name and state = old.state;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_unblocks after delete on error when old.blocking begin
  insert into gate_log (seq, entity_id, error_id, blocks, at)
    select g.seq, old.entity_id, old.error_id, 0, a.archived_at
      from gate_next g join error_archive a on a.error_id = old.error_id;
end;
-- +goose StatementEnd

-- What comes into the archive leaves its table by that very statement, and so is
-- never in both places or in none.
-- +goose StatementBegin
create trigger error_archive_insert before insert on error_archive begin
  select case
    when exists (select 1 from error_archive where error_id = new.error_id)
      or exists (select 1 from error_archive where rowid = new.rowid)
      then raise(abort, 'this error is in the archive already')
    when not exists (select 1 from error_table where table_name = new.table_name)
      then raise(abort, 'this is not a governed table')
    when (select ttl is null from error_table where table_name = new.table_name)
      then raise(abort, 'errors of this table are kept for ever')
    when exists (select 1 from error e where e.error_id = new.error_id
        and (e.table_name is not new.table_name or e.entity_id is not new.entity_id or e.code is not new.code
          or e.created_at is not new.created_at or e.correlation_id is not new.correlation_id
          or e.reported_table is not new.reported_table))
      then raise(abort, 'what an error is and when it was made is permanent')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_archived after insert on error_archive begin
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
