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

-- The other roles are optional: a user who may not create roles migrates without them.
do $$
declare who text;
begin
  foreach who in array '{recoup_writer,recoup_reader}'::text[] loop
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

-- Nodes read every table of ours but the locks, which functions of the owner take: a role with
-- any privilege on these could lock them for as long as it likes. Views adopted_N_… belong to
-- the owners of adopted tables.
do $$
declare
  ours  regclass;
  locks constant text := '^(gate_stripe_[0-9]+|turn_lock|lock_secret|schema_lock)$';
begin
  for ours in select oid from pg_class where relnamespace = 'recoup'::regnamespace and relname ~ locks loop
    execute format('revoke all on %s from public, recoup_app', ours);
  end loop;
  for ours in select oid from pg_class where relnamespace = 'recoup'::regnamespace and relkind in ('r', 'p', 'v', 'm')
      and relname !~ locks and relname !~ '^adopted_[0-9]+_' loop
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
grant insert, update, delete on recoup.adopted_row, recoup.adopted_unreadable, recoup.adopted_refused to recoup_app;
grant insert, delete on recoup.adopted_mirror to recoup_app;
grant insert, update (error_id, digest) on recoup.adopted_kept to recoup_app;
grant delete on recoup.adopted_change, recoup.adopted_entity to recoup_app;
grant insert (error_id, table_name, details, sealed, sealed_by) on recoup.source_detail to recoup_app;
grant update (state, scanned_to, scan_end, scanned, governed_at, swept_at, kept_back, kept_why) on recoup.adoption to recoup_app;

-- Functions. First no role but the owner may execute any, then each role gets those
-- that it calls. No role ever gets a trigger function: to fire a trigger needs no privilege,
-- and a role that has one can attach it to a table of its own, where it would run as the
-- owner on values of types whose casts are that role's code. Functions of an adopted
-- table are granted as they are made, but for those of its triggers.
do $$
declare
  ours  regprocedure;
  roles text := (select string_agg(quote_ident(rolname), ', ') from pg_roles where rolname in ('recoup_app', 'recoup_writer', 'recoup_reader'));
begin
  for ours in select p.oid from pg_proc p
      where p.pronamespace in ('recoup'::regnamespace, 'cl'::regnamespace) and pg_has_role(p.proowner, 'usage')
        and (p.prorettype = 'trigger'::regtype
          or p.pronamespace = 'recoup'::regnamespace and p.proname !~ '^adopted_[0-9]+_'
          or p.pronamespace = 'cl'::regnamespace and p.proname in ('sync_gate', 'gate_policy', 'refuse', 'near', 'check_leases', 'revoke_leases', -- others may have functions there
            'unread', 'check_kind', 'text_columns', 'redacting', 'redact_taken_over', 'put_redacted', 'check_redacted')) loop
    execute format('revoke execute on function %s from public, %s', ours, roles);
  end loop;
end $$;

-- Guards and views call these as the role that writes or reads.
grant execute on function recoup.acting(), recoup.clock(), recoup.tolerance(), recoup.timely(timestamptz), recoup.recent(timestamptz),
  cl.refuse(text), cl.near(timestamptz, timestamptz), cl.gate_policy(), cl.redacting(text, uuid), recoup.is_node(),
  recoup.sees(text, name), recoup.sees_all(name), recoup.readable(name), recoup.granted(text, name) to public;

-- Nodes: verbs, housekeeping, what they do after a new policy, and what the doctor asks.
grant execute on function recoup.refuse(text), recoup.lock_turn(int, boolean), recoup.lock_names(text, text[]), recoup.hold_term(text, bigint),
  recoup.settle(uuid[], uuid[], jsonb, text, timestamptz), recoup.archive(uuid[], int[], uuid[], jsonb, timestamptz, uuid[]),
  recoup.is_blocked(text), recoup.promote_for(text, text, text, timestamptz, uuid), recoup.unread(text), recoup.turn_work(), recoup.id(text) to recoup_app;
grant execute on function recoup.create_partition(text, date), recoup.drop_partition(text, date), recoup.ensure_event_partitions(date[]),
  recoup.settle_events(date[]), recoup.fold_rollups(int), recoup.purge_rollups(timestamptz, date, int), recoup.purge_archive(timestamptz, int),
  recoup.purge_replays(timestamptz, int), recoup.purge_alerts(timestamptz, int), recoup.purge_silences(timestamptz, int) to recoup_app;
grant execute on function recoup.sync_table(recoup.error_table), recoup.retire_tables(text, text[]), recoup.sync_ledger(text, interval, interval),
  cl.sync_gate(text, interval[], text[], interval), cl.unread(text, integer), cl.redact_taken_over(text, uuid[], jsonb[]) to recoup_app;
grant execute on function recoup.names(), recoup.is_view_of(text, regclass), recoup.row_security_tables() to recoup_app;
grant execute on function recoup.take_turn(int, text, interval), recoup.end_turns(text), recoup.check_turn(int, bigint), recoup.index_changes(int, int),
  recoup.pass_changes(),
  recoup.keep_moved(uuid[], bytea[], text[]), recoup.drop_moved(uuid[]), recoup.adopted_functions(int), recoup.adopted_source(int), recoup.bound_source(int), recoup.table_named(text), recoup.forget_adoption(int), recoup.replication_lag() to recoup_app;

-- Pipelines in plain SQL: they insert into the views that carry the policy's
-- names, ask the gate and pass it. Analysts read.
do $$
begin
  if to_regrole('recoup_writer') is not null then
    grant usage on schema recoup to recoup_writer;
    grant execute on function recoup.is_blocked(text), recoup.promote(text, text, text, timestamptz, uuid) to recoup_writer;
    grant insert (entity, phase, at, id), select (seq, blockers, promoted_at, unread) on recoup.promoting to recoup_writer; -- by promote
  end if;
  if to_regrole('recoup_reader') is not null then
    grant usage on schema recoup, cl to recoup_reader;
    grant select on recoup.error_code, recoup.error_table, recoup.name_taken, recoup.error_event, recoup.error_aggregate_hourly, recoup.error_aggregate_daily,
      recoup.error_aggregate_delta, recoup.error_history, cl.gate_zero_batch, cl.gate_zero_intake,
      cl.gate_zero_recovery, cl.gate_zero_air to recoup_reader;
    grant execute on function recoup.id(text) to recoup_reader;
  end if;
end $$;
select recoup.grant_reader(); -- errors, archived errors and details, unless row security is on

-- Views and partitions that were made before the role was.
select recoup.grant_view(table_name, 'recoup.error') from recoup.error_table;
select recoup.grant_view(archive_name, 'recoup.error_archive') from recoup.error_table where archive_name is not null;
select recoup.ensure_event_partitions('{}');

-- Under these paths the queries of the specifications run as they are written. A pipeline that
-- leaves a transaction idle is disconnected.
do $$
declare who text;
begin
  for who in select rolname from pg_roles where rolname in ('recoup_app', 'recoup_writer', 'recoup_reader') loop
    execute format('alter role %I in database %I set search_path = %s', who, current_database(),
      case who when 'recoup_app' then 'recoup, cl, pg_temp' else 'recoup, cl, public' end); -- nodes run nothing of public
    execute format('alter role %I in database %I set timezone = ''UTC''', who, current_database());
    if who = 'recoup_writer' then -- an open transaction holds gates, which reports and promotions wait for
      execute format('alter role %I in database %I set idle_in_transaction_session_timeout = ''30s''', who, current_database());
    end if;
  end loop;
exception when insufficient_privilege then
  null; -- comfort for people at a prompt; nodes set both themselves
end $$;
