-- What nodes, pipelines and analysts may do. Run after every migration: it grants,
-- it changes no data.
--
-- recoup_app owns nothing, truncates nothing, and deletes only what is guarded
-- or of the moment. What only follows from something else (gate_entry, promotion,
-- error_table, partitions) is written by functions that run as the owner.
do $$
begin
  if to_regrole('recoup_app') is null then
    create role recoup_app login;
  end if;
exception when duplicate_object or unique_violation then
  null; -- the migration of another database on this server was faster
end $$;

-- Whoever may not make roles does without the others.
do $$
declare who text;
begin
  foreach who in array '{recoup_writer,recoup_reader,recoup_adopter}'::text[] loop
    begin
      if to_regrole(who) is null then
        execute format('create role %I login', who);
      end if;
    exception when insufficient_privilege or duplicate_object or unique_violation then
      null;
    end;
  end loop;
end $$;

grant usage on schema recoup to recoup_app;
do $$
declare ours regclass;
begin
  for ours in select c.oid from pg_class c where c.relnamespace = 'recoup'::regnamespace and c.relkind in ('r', 'p', 'v', 'm')
      and c.relname !~ '^adopted_[0-9]+_' loop -- views that belong to the owners of adopted tables
    execute format('grant select on %s to recoup_app', ours);
  end loop;
end $$;
grant insert, update on recoup.error_code to recoup_app;
grant insert, update on recoup.error to recoup_app; -- which leave by recoup.archive
grant insert, update, delete on recoup.due, recoup.entity_streak, recoup.outbox to recoup_app;
grant insert, delete on recoup.lease to recoup_app;
grant insert on recoup.error_event, recoup.event_drop to recoup_app;
grant insert, update on recoup.event_file to recoup_app;
grant insert, update, delete on recoup.event_filing to recoup_app;
grant insert, delete on recoup.error_count, recoup.event_known, recoup.error_group_delta, recoup.bus_batch, recoup.bus_range to recoup_app;
grant insert, update, delete on recoup.error_group, recoup.error_group_hour to recoup_app;

-- Gate Zero: what happened is only ever added to, and nothing is deleted but
-- leases, turns and folded counts.
grant usage on schema cl to recoup_app;
grant select on cl.gate_zero_batch, cl.gate_zero_intake, cl.gate_zero_turn, cl.gate_zero_recovery, cl.gate_zero_lease, cl.gate_zero_air,
  cl.gate_zero_revoked, cl.gate_zero_count, cl.gate_zero_reason, cl.gate_zero_policy, cl.gate_zero_taken_over, cl.gate_zero_unread, cl.gate_zero_left to recoup_app; -- others may have tables there
grant insert, update on cl.gate_zero_batch, cl.gate_zero_intake, cl.gate_zero_recovery to recoup_app;
grant insert, update, delete on cl.gate_zero_lease, cl.gate_zero_turn to recoup_app;
grant insert, delete on cl.gate_zero_count, cl.gate_zero_reason to recoup_app;

-- The service: what was done is only ever added to, and nothing is deleted but
-- answers and counts that nobody needs any more, sessions, views, operations that are over, and notices that are finished.
grant insert, delete on recoup.idempotency to recoup_app;
grant insert, update on recoup.api_key, recoup.platform_key, recoup.leader, recoup.job to recoup_app;
grant insert on recoup.policy_version to recoup_app;
grant insert, update, delete on recoup.processed_minute, recoup.processed_hour, recoup.worker_heartbeat, recoup.session, recoup.saved_view to recoup_app;
grant insert, update, delete on recoup.operation, recoup.operation_item to recoup_app; -- what is under way is kept by its guards

-- What happened is numbered by the database alone: nodes write every column but
-- the number.
do $$
declare
  ledger regclass;
begin
  foreach ledger in array '{recoup.audit,recoup.transition,cl.gate_zero_air}'::regclass[] loop
    execute format('revoke insert on %s from recoup_app', ledger);
    execute (select format('grant insert (%s) on %s to recoup_app', string_agg(quote_ident(attname), ', '), ledger)
      from pg_attribute where attrelid = ledger and attnum > 0 and not attisdropped and attidentity = '');
  end loop;
end $$;

-- Alerts: episodes, silences and switches are kept; what is long over goes by
-- purge_alerts and purge_silences. Activity is counted, and deleted when nobody
-- needs it any more.
grant insert, update on recoup.alert, recoup.silence, recoup.provider to recoup_app;
grant insert, delete on recoup.activity_delta, recoup.staged_delta to recoup_app;
grant insert, update, delete on recoup.activity_minute, recoup.activity_hour, recoup.staged_minute to recoup_app;

-- Staged work: dead letters, rounds, notes and replays are kept; payloads and
-- checkpoints end with their work, and the queue is of the moment.
grant insert, update on recoup.dead_letter, recoup.dead_letter_group, recoup.replay, recoup.replay_item to recoup_app;
grant insert on recoup.dead_letter_round, recoup.dead_letter_note to recoup_app;
grant insert, delete on recoup.work_payload, recoup.replay_count, recoup.dead_letter_count, recoup.dead_letter_level,
  recoup.replay_outcome to recoup_app;
grant insert, update, delete on recoup.checkpoint, recoup.work, recoup.work_due, recoup.work_lease, recoup.work_pause to recoup_app;

-- Adopted tables: nodes do what an adoption needs, but neither begin nor end one.
grant insert, update, delete on recoup.adopted_row, recoup.adopted_unreadable to recoup_app;
grant insert, delete on recoup.adopted_mirror to recoup_app;
grant delete on recoup.adopted_change, recoup.adopted_entity to recoup_app;
grant insert (error_id, table_name, details, sealed, sealed_by) on recoup.source_detail to recoup_app;
grant update (state, scanned_to, scan_end, scanned, governed_at, swept_at, kept_back, kept_why) on recoup.adoption to recoup_app;

-- Functions that reach an adopted table belong to its owner, who has granted them.
do $$
declare ours regprocedure;
begin
  for ours in select p.oid from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname = 'recoup' and p.proname !~ '^adopted_[0-9]+_' loop
    execute format('revoke execute on function %s from public', ours);
    execute format('grant execute on function %s to recoup_app', ours);
  end loop;
end $$;
grant execute on function recoup.acting(), recoup.clock(), recoup.tolerance(), recoup.timely(timestamptz), recoup.recent(timestamptz) to public; -- guards ask them, whoever acts
revoke execute on function cl.sync_gate(text, interval[], text[], interval) from public;
grant execute on function cl.sync_gate(text, interval[], text[], interval) to recoup_app;
revoke execute on function cl.unread(text, integer), cl.redact_taken_over(text, uuid[], jsonb[]), cl.put_redacted(text, uuid, text, jsonb),
  cl.check_redacted(text, uuid, jsonb) from public;
grant execute on function cl.unread(text, integer), cl.redact_taken_over(text, uuid[], jsonb[]) to recoup_app;
grant execute on function recoup.caller(), recoup.sees(text), recoup.sees_all(), recoup.readable(), recoup.granted(text) to public; -- as row security does
revoke execute on function recoup.sync_view(text, regclass, recoup.error_table, text), recoup.sync_name(text, regclass, recoup.error_table, text),
  recoup.grant_view(text, regclass), recoup.allow_read(name, text, text), recoup.forbid_read(name, text, text),
  recoup.enable_row_security(), recoup.disable_row_security(), recoup.secure(regclass, text), recoup.release(regclass),
  recoup.raise_barriers(boolean), recoup.watch_errors() from recoup_app;

-- Pipelines in plain SQL: they insert into the views that carry the policy's
-- names, ask the gate and pass it. Analysts read.
do $$
begin
  if to_regrole('recoup_writer') is not null then
    grant usage on schema recoup to recoup_writer;
    grant execute on function recoup.is_blocked(text), recoup.promote(text, text, text, timestamptz, uuid) to recoup_writer;
  end if;
  if to_regrole('recoup_reader') is not null then
    grant usage on schema recoup, cl to recoup_reader;
    grant select on recoup.error_code, recoup.error_table, recoup.name_taken, recoup.error_event, recoup.error_aggregate_hourly, recoup.error_aggregate_daily,
      recoup.error_aggregate_delta, recoup.error, recoup.error_archive, recoup.error_history, cl.gate_zero_batch, cl.gate_zero_intake,
      cl.gate_zero_recovery, cl.gate_zero_air to recoup_reader;
    grant select (error_id, table_name, details) on recoup.source_detail to recoup_reader;
    grant execute on function recoup.id(text) to recoup_reader;
  end if;
  if to_regrole('recoup_adopter') is not null then -- nodes at adopted tables, whose owners grant their functions
    grant usage on schema recoup to recoup_adopter;
  end if;
end $$;

-- Views and partitions that were made before the role was.
select recoup.grant_view(table_name, 'recoup.error') from recoup.error_table;
select recoup.grant_view(archive_name, 'recoup.error_archive') from recoup.error_table where archive_name is not null;
select recoup.ensure_event_partitions('{}');

-- Under these paths the queries of the specifications run as they are written.
do $$
declare who text;
begin
  for who in select rolname from pg_roles where rolname in ('recoup_app', 'recoup_writer', 'recoup_reader') loop
    execute format('alter role %I in database %I set search_path = recoup, cl, public', who, current_database());
    execute format('alter role %I in database %I set timezone = ''UTC''', who, current_database());
  end loop;
exception when insufficient_privilege then
  null; -- comfort for people at a prompt; nodes set both themselves
end $$;
