-- +goose Up
-- An error that goes to the archive is still the error it was: no update could
-- have made of it what is there, and what is resolved goes there unchanged. A batch
-- is copied from the table by the statement that moves it.
-- +goose StatementBegin
create trigger error_archive_insert before insert on error_archive when (select batch from tally) is not 1 begin
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
    when not exists (select 1 from error where error_id = new.error_id)
      and not (new.archive_reason = 'SUPERSEDED' and new.created_at >= new.archived_at and exists (
        select 1 from error s where s.error_id = new.superseded_by and s.table_name = new.table_name and s.entity_id = new.entity_id and s.code = new.code
        union all select 1 from error_archive s where s.error_id = new.superseded_by and s.table_name = new.table_name
          and s.entity_id = new.entity_id and s.code = new.code))
      then raise(abort, 'it was never an error: what is archived leaves its table')
    when exists (select 1 from error_table t where t.table_name = new.table_name and new.purge_at < new.archived_at + t.retention
        and (t.policy_version = new.policy_version or new.policy_version is not null and not exists (select 1 from policy_version v where v.version = new.policy_version)))
      then raise(abort, 'the archive keeps its errors as long as the policy says')
    when new.final_disposition <> new.disposition
      then raise(abort, 'the final disposition is the one it had')
    when (new.archive_reason = 'SUPERSEDED') <> (new.superseded_by is not null)
      then raise(abort, 'what is superseded names what came after it')
    when (new.archive_reason = 'RESOLVED') <> (new.disposition = 'RESOLVED')
      then raise(abort, 'what is resolved is archived as resolved')
    when new.disposition = 'RESOLVED' and not exists (select 1 from error_history h
        where h.error_id = new.error_id and h.at = new.resolved_at and h.state = 'RESOLVED')
      then raise(abort, 'an error is resolved together with the row of its history that says who did and why')
    when exists (select 1 from error e where e.error_id = new.error_id
        and e.policy_version is not null and new.policy_version is null)
      then raise(abort, 'this error is admitted')
    when exists (select 1 from error e where e.error_id = new.error_id and e.state = 'RESOLVED'
        and (e.disposition is not new.disposition or e.severity is not new.severity or e.category is not new.category
          or e.class is not new.class or e.message is not new.message or e.policy_version is not new.policy_version
          or e.retry_count is not new.retry_count or e.max_retries is not new.max_retries
          or e.parked_at is not new.parked_at or e.parked_by is not new.parked_by or e.park_reason is not new.park_reason
          or e.escalation_level is not new.escalation_level or e.resolved_at is not new.resolved_at
          or e.resolved_by is not new.resolved_by or e.resolution_reason is not new.resolution_reason))
      then raise(abort, 'this error is resolved')
  end;
end;
-- +goose StatementEnd

-- What a person has to do is found without looking at what others have to.
create index error_assigned_idx on error (assigned_to, created_at, error_id) where assigned_to is not null;

-- What plain SQL writes is read as a report is read: its code is folded and must
-- look like one, what lacks the entity that its table requires is kept among the
-- orphans, and a dead letter, which carries its work, comes another way. A trigger
-- cannot change the row, so another takes its place.
-- +goose StatementBegin
create trigger error_plain before insert on error when new.policy_version is null begin
  select case
    when length(new.code) not between 1 and 64 or upper(new.code) not glob '[A-Z]*' or upper(new.code) glob '*[^A-Z0-9_]*'
      then raise(abort, 'code does not look like a code: expected letters, digits and _, at most 64, beginning with a letter, such as NETWORK_TIMEOUT')
    when (select dead_letter from error_table where table_name = new.table_name)
      then raise(abort, 'this table takes no plain inserts, because a dead letter carries its work: send it with POST /v1/dead-letters')
  end;
  insert into error (error_id, table_name, reported_table, entity_id, code, severity, message, correlation_id, disposition,
      blocking, created_at, updated_at, expires_at)
    select new.error_id, coalesce(o.table_name, new.table_name), case when o.table_name is null then new.reported_table else new.table_name end,
        case when o.table_name is null then new.entity_id end, c.code, new.severity, new.message, new.correlation_id,
        coalesce(o.default_disposition, new.disposition), case when o.table_name is null then new.blocking else 0 end,
        new.created_at, new.updated_at, case when o.table_name is null then new.expires_at else new.created_at + o.ttl end
      from (select coalesce((select code from error_code where code = upper(new.code)),
          (select k.code from error_code k, json_each(k.definition, '$.aliases') a where a.value = upper(new.code)), upper(new.code)) as code) c
      left join error_table o on o.orphans and coalesce(new.entity_id, '') = ''
        and (select entity_required and not retired from error_table where table_name = new.table_name)
     where c.code <> new.code or o.table_name is not null;
  select raise(ignore) from error where error_id = new.error_id and policy_version is null
    and (code <> new.code or table_name <> new.table_name);
end;
-- +goose StatementEnd
