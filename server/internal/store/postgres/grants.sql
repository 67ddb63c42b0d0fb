-- What pipelines, analysts and everybody may do. Run after every migration, before grants_app.sql:
-- it grants, it changes no data.
--
-- A user who may not create roles migrates without those that are missing. Without recoup_app
-- nodes connect as the owner of the schema.
do $$
declare who text;
begin
  foreach who in array '{recoup_app,recoup_writer,recoup_reader}'::text[] loop
    begin
      if to_regrole(who) is null then
        execute format('create role %I login', who);
      end if;
    exception when insufficient_privilege or duplicate_object or unique_violation then
      null; -- or the migration of another database on this server was faster
    end;
  end loop;
end $$;

-- Locks: functions of the owner take them. A role with any privilege on them could lock them for as
-- long as it likes.
do $$
declare ours regclass;
begin
  for ours in select oid from pg_class where relnamespace = 'recoup'::regnamespace and relname ~ '^(gate_stripe_[0-9]+|turn_lock|lock_secret|schema_lock)$' loop
    execute format('revoke all on %s from public', ours);
  end loop;
end $$;

-- Functions. First no role but the owner may execute any, then each role gets those
-- that it calls. No role ever gets a trigger function: to fire a trigger needs no privilege,
-- and a role that has one can attach it to a table of its own, where it would run as the
-- owner on values of types whose casts are that role's code. Functions of an adopted
-- table are granted as they are made, but for those of its triggers.
do $$
declare
  ours  regprocedure;
  roles text := concat_ws(', ', 'public', (select string_agg(quote_ident(rolname), ', ') from pg_roles where rolname in ('recoup_app', 'recoup_writer', 'recoup_reader')));
begin
  for ours in select p.oid from pg_proc p
      where p.pronamespace in ('recoup'::regnamespace, 'cl'::regnamespace) and pg_has_role(p.proowner, 'usage')
        and (p.prorettype = 'trigger'::regtype
          or p.pronamespace = 'recoup'::regnamespace and p.proname !~ '^adopted_[0-9]+_'
          or p.pronamespace = 'cl'::regnamespace and p.proname in ('sync_gate', 'gate_policy', 'refuse', 'near', 'check_leases', 'revoke_leases', -- others may have functions there
            'unread', 'check_kind', 'text_columns', 'redacting', 'redact_taken_over', 'put_redacted', 'check_redacted')) loop
    execute format('revoke execute on function %s from %s', ours, roles);
  end loop;
end $$;

-- Guards and views call these as the role that writes or reads.
grant execute on function recoup.acting(), recoup.clock(), recoup.tolerance(), recoup.timely(timestamptz), recoup.recent(timestamptz),
  cl.refuse(text), cl.near(timestamptz, timestamptz), cl.gate_policy(), cl.redacting(text, uuid), recoup.is_node(),
  recoup.sees(text, name), recoup.sees_all(name), recoup.readable(name), recoup.granted(text, name) to public;

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
