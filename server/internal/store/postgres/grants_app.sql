-- What nodes may do. Run after grants.sql, if the role recoup_app exists.
--
-- recoup_app owns nothing, truncates nothing, and deletes only what is guarded
-- or of the moment. What only follows from something else (gate_entry, promotion,
-- error_table, partitions) is written by functions that run as the owner.
grant usage on schema recoup to recoup_app;

-- Nodes read every table of ours but the locks. Views adopted_N_… belong to the owners of adopted
-- tables.
do $$
declare
  ours  regclass;
  locks constant text := '^(gate_stripe_[0-9]+|turn_lock|lock_secret|schema_lock)$';
begin
  for ours in select oid from pg_class where relnamespace = 'recoup'::regnamespace and relname ~ locks loop
    execute format('revoke all on %s from recoup_app', ours);
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
grant insert on recoup.error_event, recoup.event_late, recoup.event_drop to recoup_app; -- late events leave by recoup.deliver_events
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
grant update (state, scanned_to, scan_end, scanned, governed_at, swept_at, kept_back, kept_why, partitions, unseen, unseen_since, unseen_why) on recoup.adoption to recoup_app;

-- Nodes: verbs, housekeeping, what they do after a new policy, and what the doctor asks.
grant execute on function recoup.refuse(text), recoup.lock_turn(int, boolean), recoup.lock_names(text, text[]), recoup.hold_term(text, bigint),
  recoup.settle(uuid[], uuid[], jsonb, text, timestamptz), recoup.archive(uuid[], int[], uuid[], jsonb, timestamptz, uuid[]),
  recoup.is_blocked(text), recoup.promote_for(text, text, text, timestamptz, uuid), recoup.unread(text), recoup.turn_work(), recoup.id(text) to recoup_app;
grant execute on function recoup.create_partition(text, date), recoup.drop_partition(text, date), recoup.ensure_event_partitions(date[]),
  recoup.add_events(uuid[], text[], uuid[], text[], text[], int[], text[], jsonb[], text[], timestamptz[], text[], text[], text[]), recoup.deliver_events(int),
  recoup.settle_events(date[]), recoup.fold_rollups(int), recoup.purge_rollups(timestamptz, date, int), recoup.purge_archive(timestamptz, int),
  recoup.purge_replays(timestamptz, int), recoup.purge_alerts(timestamptz, int), recoup.purge_silences(timestamptz, int) to recoup_app;
grant execute on function recoup.sync_table(recoup.error_table), recoup.retire_tables(text, text[]), recoup.sync_ledger(text, interval, interval),
  cl.sync_gate(text, interval[], text[], interval), cl.unread(text, integer), cl.redact_taken_over(text, uuid[], jsonb[]) to recoup_app;
grant execute on function recoup.names(), recoup.is_view_of(text, regclass), recoup.row_security_tables() to recoup_app;
grant execute on function recoup.take_turn(int, text, interval), recoup.end_turns(text), recoup.check_turn(int, bigint), recoup.index_changes(int, int),
  recoup.pass_changes(),
  recoup.keep_moved(uuid[], bytea[], text[]), recoup.drop_moved(uuid[]), recoup.adopted_functions(int), recoup.adopted_source(int), recoup.bound_source(int), recoup.table_named(text), recoup.forget_adoption(int), recoup.replication_lag() to recoup_app;
