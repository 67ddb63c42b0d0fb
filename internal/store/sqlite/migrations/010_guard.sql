-- +goose Up
-- An error that goes to the archive is still the error it was: no update could
-- have made of it what is there, and what is resolved goes there unchanged. That
-- its identity is permanent, error_archive_insert says already.
-- +goose StatementBegin
create trigger error_archive_kept before insert on error_archive begin
  select case
    when new.final_disposition <> new.disposition
      then raise(abort, 'the final disposition is the one it had')
    when (new.archive_reason = 'SUPERSEDED') <> (new.superseded_by is not null)
      then raise(abort, 'what is superseded names what came after it')
    when (new.archive_reason = 'RESOLVED') <> (new.disposition = 'RESOLVED')
      then raise(abort, 'what is resolved is archived as resolved')
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
