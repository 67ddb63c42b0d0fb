-- +goose Up
-- +goose StatementBegin
-- What no writer of errors can do, and what follows from each write: counts and the
-- gate's log. A trigger names the columns that it is about where it can: a statement
-- that does not set them does not ask.

-- New errors are held to their table. What a node reports of the past, and has expired by
-- now, blocks nothing on its way to the archive.
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
          or coalesce(new.policy_version, t.policy_version) = t.policy_version
            and (new.blocking or new.policy_version is null or coalesce(new.expires_at > new.updated_at, 1))))
      then raise(abort, 'blocking is not what the table says')
  end;
end;
create trigger error_inserted after insert on error when new.rowid < 1 or (select batch from tally) is not 1 begin
  select raise(abort, 'a row number is positive') where new.rowid < 1;
  insert into error_count
    select new.table_name, new.state, ttl, 1, new.blocking, iif(ttl > 0, new.created_at / 1000000, 0), iif(ttl > 0, new.created_at % 1000000, 0)
    from (select iif(new.state <> 'RESOLVED' and new.expires_at > new.created_at, new.expires_at - new.created_at, 0) as ttl) where true
    on conflict (table_name, state, ttl_us) do update set n = n + excluded.n, blocking = blocking + excluded.blocking,
      born_s = born_s + excluded.born_s, born_us = born_us + excluded.born_us;
  insert into error_group_delta (group_id, active, retry_pending, parked, escalated, arrived, first_at, last_at, example)
    select new.group_id, new.state = 'ACTIVE', new.state = 'RETRY_PENDING', new.state = 'PARKED', new.state = 'ESCALATED', 1, new.created_at, new.created_at, new.error_id
     where new.group_id is not null;
  update gate_number set seq = seq + 1 where new.blocking;
  insert into gate_entry (entity_id, seq, error_id, blocks, at)
    select new.entity_id, seq, new.error_id, 1, new.updated_at from gate_number where new.blocking;
end;

-- What plain SQL writes is read as a report is read: its code is folded and must
-- look like one, an entity longer than in the API is refused, a longer message is cut and
-- says how long it was, what lacks the entity that its table requires is kept among the
-- orphans, and a dead letter, which carries its work, comes another way. A trigger
-- cannot change the row, so another takes its place. It is made after error_insert,
-- so that it runs before it.
create trigger error_plain before insert on error when new.policy_version is null begin
  select case
    when length(new.code) not between 1 and 64 or upper(new.code) not glob '[A-Z]*' or upper(new.code) glob '*[^A-Z0-9_]*'
      then raise(abort, 'code does not look like a code: expected letters, digits and _, at most 64, beginning with a letter, such as NETWORK_TIMEOUT')
    when length(cast(new.entity_id as blob)) > 200
      then raise(abort, 'the entity may have 200 bytes')
    when (select dead_letter from error_table where table_name = new.table_name)
      then raise(abort, 'this table takes no plain inserts, because a dead letter carries its work: send it with POST /v1/dead-letters')
  end;
  insert into error (error_id, table_name, reported_table, entity_id, code, severity, message, correlation_id, disposition,
      blocking, created_at, updated_at, expires_at)
    select new.error_id, coalesce(o.table_name, new.table_name), case when o.table_name is null then new.reported_table else new.table_name end,
        case when o.table_name is null then new.entity_id end, c.code, new.severity, m.message, new.correlation_id,
        coalesce(o.default_disposition, new.disposition), case when o.table_name is null then new.blocking else 0 end,
        new.created_at, new.updated_at, case when o.table_name is null then new.expires_at else new.created_at + o.ttl end
      from (select coalesce((select code from error_code where code = upper(new.code)),
          (select k.code from error_code k, json_each(k.definition, '$.aliases') a where a.value = upper(new.code)), upper(new.code)) as code) c
      cross join (select iif(length(cast(new.message as blob)) <= 8192, new.message,
          substr(new.message, 1, iif(length(cast(substr(new.message, 1, 8150) as blob)) <= 8150, 8150, 2037))
          || ' [cut: ' || length(cast(new.message as blob)) || ' bytes]') as message) m
      left join error_table o on o.orphans and coalesce(new.entity_id, '') = ''
        and (select entity_required and not retired from error_table where table_name = new.table_name)
     where c.code <> new.code or o.table_name is not null or m.message <> new.message;
  select raise(ignore) from error where error_id = new.error_id and policy_version is null
    and (code <> new.code or table_name <> new.table_name or message <> new.message);
end;

-- What must not change does not, and what is over does not come back.
create trigger error_permanent before update of error_id, table_name, reported_table, entity_id, code, created_at, correlation_id, group_id on error begin
  select case
    when new.error_id is not old.error_id
      then raise(abort, 'an error keeps its id')
    when new.table_name is not old.table_name or new.entity_id is not old.entity_id or new.code is not old.code
      or new.created_at is not old.created_at or new.correlation_id is not old.correlation_id
      or new.reported_table is not old.reported_table or new.group_id <> old.group_id
      then raise(abort, 'what an error is and when it was made is permanent')
  end;
end;
create trigger error_over before update on error
when old.state = 'RESOLVED' or new.rowid <> old.rowid
  or old.policy_version is not null and (select ttl is null from error_table where table_name = old.table_name) begin
  select case
    when new.rowid <> old.rowid then raise(abort, 'an error keeps its id')
    when old.state = 'RESOLVED' then raise(abort, 'this error is resolved')
    else raise(abort, 'errors of this table are kept as they are')
  end;
end;

-- An error is what its table allows, and it is resolved together with the row of its
-- history that says so, which is written first. A row that plain SQL has written is
-- admitted once, whatever its table.
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
    when new.state = 'RESOLVED' and not exists (select 1 from transition
        where error_id = new.error_id and at = new.resolved_at and state = 'RESOLVED')
      then raise(abort, 'an error is resolved together with the row of its history that says who did and why')
  end;
end;
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
  insert into error_group_delta (group_id, active, retry_pending, parked, escalated, resolved)
    select old.group_id, -(old.state = 'ACTIVE'), -(old.state = 'RETRY_PENDING'), -(old.state = 'PARKED'), -(old.state = 'ESCALATED'), -(old.state = 'RESOLVED') where old.group_id is not null;
  insert into error_group_delta (group_id, active, retry_pending, parked, escalated, resolved)
    select new.group_id, (new.state = 'ACTIVE'), (new.state = 'RETRY_PENDING'), (new.state = 'PARKED'), (new.state = 'ESCALATED'), (new.state = 'RESOLVED') where new.group_id is not null;
  update gate_number set seq = seq + 1 where new.blocking <> old.blocking;
  insert into gate_entry (entity_id, seq, error_id, blocks, at)
    select new.entity_id, seq, new.error_id, new.blocking, new.updated_at from gate_number where new.blocking <> old.blocking;
end;

-- An error leaves its table only for the archive, and some never do. A node archives a
-- batch in two statements: it copies the errors as they are, with what archiving adds,
-- and deletes what is in the archive by then. Nobody else does either. What is archived
-- leaves no open dead letter behind (008), nor the item of a replay (010): whoever
-- archives it ends both. These guards look afterwards, which undoes as much and costs
-- less: before, SQLite would look for each row twice.
create trigger error_archive_insert after insert on error_archive when (select batch from tally) is not 1 begin
  select raise(abort, 'an error is archived by a node, and by no other statement');
end;
create trigger error_delete after delete on error
when (select batch from tally) is not 1 or not exists (select 1 from error_archive where error_id = old.error_id)
  or (select ttl is null or dead_letter from error_table where table_name = old.table_name) begin
  select case
    when (select batch from tally) is not 1 or not exists (select 1 from error_archive where error_id = old.error_id)
      then raise(abort, 'an error leaves its table only for the archive')
    when (select ttl is null from error_table where table_name = old.table_name)
      then raise(abort, 'errors of this table are kept for ever')
    when exists (select 1 from replay_item where error_id = old.error_id and state in ('PENDING', 'RELEASED'))
      then raise(abort, 'what is part of a replay is not archived')
    when exists (select 1 from dead_letter where error_id = old.error_id and closed_at is null)
      then raise(abort, 'its dead letter is open, and is closed when it is archived')
  end;
end;

-- The archive is never rewritten, and what its rows carry of the history and of the
-- gate's log, which outlive them, stays when they are purged.
create trigger error_archive_update before update on error_archive begin
  select raise(abort, 'the archive is never rewritten');
end;
create trigger error_archive_delete before delete on error_archive
when (select old.purge_at <= archive_until from retention) is not true begin
  select raise(abort, 'the retention of this error is not over');
end;
create trigger error_archive_purged after delete on error_archive begin
  insert into transition (seq, error_id, at, input, actor, reason, was_state, was_disposition, was_blocking, was_escalation_level, was_retry_count,
      was_next_retry_at, was_expires_at, was_owner, state, disposition, blocking, escalation_level, retry_count, next_retry_at, expires_at, owner,
      policy_version, worker, claimed_at, attempt)
    select iif(exists (select 1 from transition where seq = old.end_seq), null, old.end_seq), old.error_id, old.archived_at, old.end_input, old.archived_by,
      old.end_reason, old.was_state, old.disposition, old.was_blocking, old.escalation_level, old.retry_count, old.next_retry_at, old.expires_at, owner,
      old.state, old.disposition, old.blocking, old.escalation_level, old.retry_count, old.next_retry_at, old.expires_at, owner,
      old.end_policy, old.end_worker, old.end_claimed_at, old.end_attempt from (select coalesce(old.assigned_to, old.escalated_to, 'system') as owner);
  insert into gate_entry (entity_id, seq, error_id, blocks, at)
    select old.entity_id, old.end_gate, old.error_id, 0, old.archived_at where old.end_gate is not null;
end;
-- +goose StatementEnd
