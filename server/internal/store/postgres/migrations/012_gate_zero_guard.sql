-- +goose Up
-- +goose StatementBegin
-- What no writer of Gate Zero can do, and what follows from each write.
--
-- The guards look at whole statements: a check per row would cost an import or five
-- thousand results more than all the rest. They run as the schema's owner, so that
-- whoever may write an intake need not be able to write what follows from it. Their
-- settings keep plans good that are made for one row and reused for thousands.

-- refuse raises what a guard has found, if it has found something.
create function cl.refuse(what text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if what is not null then
    raise exception using errcode = 'RC001', message = what;
  end if;
end $$;

-- near reports whether two times are the same but for the time that writing takes.
create function cl.near(a timestamptz, b timestamptz) returns boolean language sql immutable as $$
  select a operator(pg_catalog.>=) (b operator(pg_catalog.-) interval '1 minute')
    and a operator(pg_catalog.<=) (b operator(pg_catalog.+) interval '1 minute')
$$;

-- sync_gate follows the newest policy, once.
create function cl.sync_gate(version text, waits interval[], reasons text[], recovery_window interval) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was cl.gate_zero_policy := cl.gate_policy();
begin
  if not recoup.newest_policy(version) then
    return; -- whoever has the newest follows it
  end if;
  perform cl.refuse(case
    when num_nulls(waits, reasons, recovery_window) > 0 or array_position(waits, null) is not null or array_position(reasons, null) is not null
      then 'a wait, a reason or the recovery window of Gate Zero is missing'
    when interval '0' >= any (waits) or recovery_window <= interval '0' then 'a wait of Gate Zero takes time'
    when interval '1000 years' < any (waits) or recovery_window > interval '1000 years' then 'a wait of Gate Zero takes at most 1000 years'
    when exists (select from unnest(reasons) r where r !~ '^[A-Z][A-Z0-9_]{0,63}$') or cardinality(reasons) = 0 then 'a reason of Gate Zero is a code'
    when was.policy_version = version and exists (select from recoup.policy_version)
      and (was.waits, was.reasons, was.recovery_window) is distinct from (waits, reasons, recovery_window)
      then 'Gate Zero: a policy that was in force is never changed' end);
  update cl.gate_zero_policy p set waits = sync_gate.waits, reasons = sync_gate.reasons, recovery_window = sync_gate.recovery_window,
      policy_version = version
   where (p.waits, p.reasons, p.recovery_window, p.policy_version)
     is distinct from (sync_gate.waits, sync_gate.reasons, sync_gate.recovery_window, version);
end $$;

-- Batches.

-- guard_batch lets a batch be completed, frozen and killed when it is, and no other time.
create function cl.guard_batch() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    perform cl.refuse('batch ' || new.batch_id || ': ' || case
      when num_nonnulls(new.completed_at, new.batch_freeze_at, new.frozen_at) > 0 then 'it begins open: complete it when its import is done'
      when new.killed_at is not null then 'it begins with its kill switch off: turn that on when it is there' end);
    return new;
  end if;
  perform cl.refuse('batch ' || old.batch_id || ': ' || case
    when old.completed_at is null and not recoup.timely(new.completed_at) then 'it is complete now, and at no other time'
    when old.completed_at is null and not cl.near(new.batch_freeze_at, new.completed_at + (cl.gate_policy()).recovery_window)
      then 'it freezes ' || (cl.gate_policy()).recovery_window || ' after it is complete'
    when old.frozen_at is null and not recoup.timely(new.frozen_at) then 'it is frozen now, and at no other time'
    when new.batch_id <> old.batch_id or new.created_at <> old.created_at then 'what it is and when it was made is permanent'
    when old.completed_at is not null
      and (new.completed_at is distinct from old.completed_at or new.batch_freeze_at is distinct from old.batch_freeze_at)
      then 'its time runs already'
    when old.frozen_at is not null and new.frozen_at is distinct from old.frozen_at then 'it is frozen for good'
    when old.frozen_at is null and new.frozen_at is not null and exists (select from cl.gate_zero_recovery
        where coalesce(batch_id, '') = new.batch_id and status = 'ACTIVE') then 'recoveries of it are ACTIVE' end);
  return new;
end $$;
create trigger guard before insert or update on cl.gate_zero_batch for each row execute function cl.guard_batch();
create trigger forbidden before delete on cl.gate_zero_batch for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on cl.gate_zero_batch for each statement execute function recoup.forbid();

-- Intakes.

-- intakes_added takes intakes while the import is open, or as successors of failed ones.
create function cl.intakes_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  if tg_relid <> 'cl.gate_zero_intake'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform cl.refuse(min(case
      when b.batch_id is null then 'there is no batch ' || a.batch_id
      when b.completed_at is not null and a.imported then 'the import of batch ' || a.batch_id || ' is complete' end))
    from (select batch_id, bool_or(previous_intake_id is null) as imported
            from added where batch_id is not null group by 1) a
    left join cl.gate_zero_batch b using (batch_id);
  perform cl.refuse(min(case
      when a.previous_intake_id is null then 'an intake begins PENDING'
      when a.status <> 'AUTHORIZED' then 'what takes over after a recovery is AUTHORIZED'
      when not exists (select from cl.gate_zero_intake p where p.intake_id = a.previous_intake_id
        and p.status = 'FAILED' and p.batch_id is not distinct from a.batch_id)
        then 'an intake can take over only from a failed one of its batch' end))
    from added a where a.previous_intake_id is not null or a.status <> 'PENDING';
  insert into cl.gate_zero_count
    select batch_id, status, count(*) from added where batch_id is not null group by 1, 2;
  return null;
end $$;
create trigger guard_insert after insert on cl.gate_zero_intake referencing new table as added
  for each statement execute function cl.intakes_added();

-- redacting reports whether cl.redact_taken_over is changing a row at the moment.
create function cl.redacting(kind text, id uuid) returns boolean language sql stable
security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from cl.gate_zero_unread u where u.kind = redacting.kind and u.row_id = id and u.reading)
$$;

-- intakes_changed never lets a failed intake become AUTHORIZED.
create function cl.intakes_changed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off set enable_nestloop = off as $$
begin
  if tg_relid <> 'cl.gate_zero_intake'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform cl.refuse(min('intake ' || n.intake_id || ': ' || case
      when o.intake_id is null
        or row(n.batch_id, n.import_key, n.company_name, n.domain, n.linkedin_url, n.state, n.previous_intake_id, n.created_at)
          is distinct from row(o.batch_id, o.import_key, o.company_name, o.domain, o.linkedin_url, o.state, o.previous_intake_id, o.created_at)
        then case when cl.redacting('intake', o.intake_id) then null else 'what it is and when it came is permanent' end
      when n.status = o.status or o.status = 'PENDING' and n.status in ('FAILED', 'AUTHORIZED') then null
      when o.status = 'FAILED' and n.status = 'REENTER_SUCCEEDED'
        and exists (select from cl.gate_zero_intake f where f.previous_intake_id = o.intake_id)
        and exists (select from cl.gate_zero_recovery r where r.intake_id = o.intake_id and r.status = 'SUCCEEDED') then null
      else o.status || ' does not become ' || n.status end))
    from changed n left join was o using (intake_id);
  insert into cl.gate_zero_count
    select batch_id, status, sum(d) from (
      select batch_id, status, 1 as d from changed union all select batch_id, status, -1 from was) m
     where batch_id is not null group by 1, 2 having sum(d) <> 0;
  return null;
end $$;
create trigger guard_update after update on cl.gate_zero_intake referencing old table as was new table as changed
  for each statement execute function cl.intakes_changed();
create trigger forbidden before delete on cl.gate_zero_intake for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on cl.gate_zero_intake for each statement execute function recoup.forbid();

-- Recoveries.

-- recoveries_added begins a recovery with its first attempt and its first wait.
create function cl.recoveries_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  gate cl.gate_zero_policy := cl.gate_policy();
begin
  if tg_relid <> 'cl.gate_zero_recovery'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform cl.refuse(min('the recovery of intake ' || a.intake_id || ': ' || case
      when i.status is distinct from 'FAILED' then 'only a failed intake is recovered'
      when i.batch_id is distinct from a.batch_id then 'it belongs to the batch of its intake'
      when a.attempt_count <> 1 then 'the first attempt comes first'
      when not recoup.timely(a.created_at) then 'it begins now, and at no other time'
      when not cl.near(a.next_eligible_at, a.created_at + gate.waits[1]) then 'it waits ' || gate.waits[1] || ' before it is retried'
      when a.failure_reason <> all (gate.reasons) then 'unknown failure_reason ' || a.failure_reason || '; reasons are: ' || array_to_string(gate.reasons, ', ')
      when a.status <> case when b.frozen_at is not null or b.batch_freeze_at <= a.created_at then 'EXHAUSTED' else 'ACTIVE' end
        then 'it begins ACTIVE or, in a frozen batch, EXHAUSTED' end))
    from added a
    left join cl.gate_zero_intake i on i.intake_id = a.intake_id
    left join cl.gate_zero_batch b on b.batch_id = a.batch_id;
  insert into cl.gate_zero_count
    select batch_id, status, count(*) from added where batch_id is not null group by 1, 2;
  insert into cl.gate_zero_reason select status, failure_reason, count(*) from added group by 1, 2;
  return null;
end $$;
create trigger guard_insert after insert on cl.gate_zero_recovery referencing new table as added
  for each statement execute function cl.recoveries_added();

-- recoveries_changed lets attempt_count, next_eligible_at and the reason move together,
-- by the schedule and not before their time. That a change is of now is judged by
-- the database's clock, so that no column which the writer sets has to be believed.
create function cl.recoveries_changed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off set enable_nestloop = off as $$
declare
  gate cl.gate_zero_policy := cl.gate_policy();
begin
  if tg_relid <> 'cl.gate_zero_recovery'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform cl.refuse(min('recovery ' || n.recovery_id || ': ' || case
      when o.recovery_id is null or n.intake_id <> o.intake_id or n.batch_id is distinct from o.batch_id
        or n.created_at <> o.created_at then 'what it is of and when it began is permanent'
      when (o.status <> 'ACTIVE' or not recoup.timely(n.updated_at)) and cl.redacting('recovery', o.recovery_id) then null
      when o.status <> 'ACTIVE' then 'it is ' || o.status || ' for good'
      when n.attempt_count not in (o.attempt_count, o.attempt_count + 1) then 'attempts are counted one by one'
      when n.attempt_count = o.attempt_count and n.next_eligible_at <> o.next_eligible_at
        then 'only a failed attempt moves the time of the next'
      when not recoup.timely(n.updated_at) then 'it changes now, and at no other time'
      when n.attempt_count > o.attempt_count and not coalesce(cl.near(n.next_eligible_at, n.updated_at + gate.waits[n.attempt_count]), false)
        then coalesce('it waits ' || gate.waits[n.attempt_count] || ' before it is retried again', 'its attempts are used up')
      when (n.attempt_count > o.attempt_count or n.failure_reason <> o.failure_reason) and n.failure_reason <> all (gate.reasons)
        then 'unknown failure_reason ' || n.failure_reason || '; reasons are: ' || array_to_string(gate.reasons, ', ')
      when n.attempt_count = o.attempt_count and n.failure_reason <> o.failure_reason and n.status <> 'EXHAUSTED'
        then 'only a failed attempt has a reason'
      when n.updated_at < o.next_eligible_at
        and (n.attempt_count > o.attempt_count or n.status = 'SUCCEEDED' or n.failure_reason <> o.failure_reason)
        then 'it is not eligible before ' || o.next_eligible_at
      when n.status = 'EXHAUSTED' and (n.updated_at < o.next_eligible_at or o.attempt_count < cardinality(gate.waits))
        and not exists (select from cl.gate_zero_batch b where b.batch_id = n.batch_id and b.batch_freeze_at <= n.updated_at)
        then 'it has attempts left, and its batch is not frozen' end))
    from changed n left join was o using (recovery_id);
  insert into cl.gate_zero_count
    select batch_id, status, sum(d) from (
      select batch_id, status, 1 as d from changed union all select batch_id, status, -1 from was) m
     where batch_id is not null group by 1, 2 having sum(d) <> 0;
  insert into cl.gate_zero_reason
    select status, failure_reason, sum(d) from (
      select status, failure_reason, 1 as d from changed union all select status, failure_reason, -1 from was) m
     group by 1, 2 having sum(d) <> 0;
  return null;
end $$;
create trigger guard_update after update on cl.gate_zero_recovery referencing old table as was new table as changed
  for each statement execute function cl.recoveries_changed();

-- recovery_touched dates what was changed without a date.
create function cl.recovery_touched() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not cl.redacting('recovery', new.recovery_id) then
    new.updated_at := recoup.clock();
  end if;
  return new;
end $$;
create trigger touched before update on cl.gate_zero_recovery
  for each row when (new.updated_at = old.updated_at) execute function cl.recovery_touched();

-- recovery_told completes the AIR at the end of the transaction: it records what
-- happened to a recovery, where its writer has not.
create function cl.recovery_told() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_relid <> 'cl.gate_zero_recovery'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  insert into cl.gate_zero_air (intake_id, recovery_id, batch_id, event, reason, attempt_count, actor, at)
    select new.intake_id, new.recovery_id, new.batch_id, e, case when e <> 'AUTH' then new.failure_reason end,
        new.attempt_count, session_user, new.updated_at
      from unnest(array[
        case when tg_op = 'INSERT' or new.attempt_count > old.attempt_count then 'FAIL' end,
        case new.status when 'EXHAUSTED' then 'EXHAUSTED' when 'SUCCEEDED' then 'AUTH' end]) e
     where e is not null and not exists (select from cl.gate_zero_air a where a.intake_id = new.intake_id and a.event = e
       and coalesce(a.attempt_count, new.attempt_count) = new.attempt_count);
  return null;
end $$;
create constraint trigger told_insert after insert on cl.gate_zero_recovery deferrable initially deferred
  for each row execute function cl.recovery_told();
create constraint trigger told_update after update on cl.gate_zero_recovery deferrable initially deferred
  for each row when (new.attempt_count <> old.attempt_count or new.status <> old.status) execute function cl.recovery_told();
create trigger forbidden before delete on cl.gate_zero_recovery for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on cl.gate_zero_recovery for each statement execute function recoup.forbid();

-- What was taken over is redacted once, by a node, because what a secret is only Go knows.

-- check_kind refuses what is no table of rows that are redacted: its name becomes a part of
-- statements.
create function cl.check_kind(kind text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if kind is null or kind not in ('intake', 'recovery') then
    raise exception using errcode = 'RC001', message = format('unknown kind %L; kinds are: intake, recovery', kind);
  end if;
end $$;

-- unread returns rows taken over that no node has looked at: their columns that can hold
-- text and name nothing.
create function cl.unread(kind text, n integer) returns table (id uuid, texts jsonb)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform cl.check_kind(kind);
  return query execute format($q$
    select u.row_id, coalesce((select jsonb_object_agg(v.key, v.value) from jsonb_each(to_jsonb(t)) v
        where v.key = any ($2) and v.value <> 'null'), '{}')
      from (select row_id from cl.gate_zero_unread where kind = $1 order by row_id limit $3) u
      join cl.gate_zero_%1$s t on t.%1$s_id = u.row_id$q$, kind) using kind, cl.text_columns(kind), n;
end $$;

-- text_columns lists them. What identifies a row or is one of a few codes is none of them.
create function cl.text_columns(kind text) returns text[] language sql stable
set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(a.attname::text), '{}') from pg_attribute a join pg_type t on t.oid = a.atttypid
   where a.attrelid = ('cl.gate_zero_' || kind)::regclass and a.attnum > 0 and not a.attisdropped and a.attgenerated = ''
     and t.typcategory in ('S', 'U', 'A', 'C') and t.oid not in ('uuid'::regtype, 'bytea'::regtype)
     and a.attname not in ('batch_id', 'status', 'failure_reason')
$$;

-- redact_taken_over changes rows taken over that nobody has looked at yet, each by an object
-- of the columns that held a secret, and returns how many there were. A text must be what it
-- was but for replacements. What its column cannot hold is left empty: a name that is not
-- unique any more, a text that is too long.
create function cl.redact_taken_over(kind text, ids uuid[], changes jsonb[]) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  c       record;
  changed integer := 0;
begin
  perform cl.check_kind(kind);
  for c in with mine as (update cl.gate_zero_unread u set reading = true
        where u.kind = redact_taken_over.kind and u.row_id = any (ids) returning u.row_id)
      select d.id, d.change from unnest(ids, changes) d (id, change) join mine on mine.row_id = d.id where d.change <> '{}' order by 1 loop
    perform cl.check_redacted(kind, c.id, c.change);
    perform cl.put_redacted(kind, c.id, key, value) from jsonb_each(c.change);
    changed := changed + 1;
  end loop;
  delete from cl.gate_zero_unread u where u.kind = redact_taken_over.kind and u.row_id = any (ids);
  update cl.gate_zero_taken_over t set redacted = t.redacted + changed,
    read_at = case when not exists (select from cl.gate_zero_unread) then recoup.clock() end;
  return changed;
end $$;

-- put_redacted writes a column, or empties it.
create function cl.put_redacted(kind text, id uuid, name text, value jsonb) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  put text := format('update cl.gate_zero_%1$s t set %2$I = (select %2$I from jsonb_populate_record(null::cl.gate_zero_%1$s, $2)) where t.%1$s_id = $1', kind, name);
begin
  execute put using id, jsonb_build_object(name, value);
exception when data_exception or unique_violation then
  execute put using id, jsonb_build_object(name, null);
end $$;

-- check_redacted refuses a change that does more than to replace parts of what was there.
create function cl.check_redacted(kind text, id uuid, change jsonb) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  was jsonb;
begin
  execute format('select to_jsonb(t) from cl.gate_zero_%1$s t where t.%1$s_id = $1', kind) into was using id;
  perform cl.refuse(min(kind || ' ' || id || ': ' || case
      when key <> all (cl.text_columns(kind)) then quote_ident(key) || ' is no column that is redacted'
      when value::text not like '%[redacted:%' then quote_ident(key) || ' is replaced by nothing that is redacted'
      when jsonb_typeof(value) = 'string' and jsonb_typeof(was -> key) = 'string' and was ->> key not like
          regexp_replace(regexp_replace(value #>> '{}', '([\\%_])', '\\\1', 'g'), '\[redacted:[^]]*\]', '%', 'g')
        then quote_ident(key) || ' is changed where nothing is redacted' end))
    from jsonb_each(change);
end $$;

-- Leases: one begins now, is only ever extended, and has expired when its time is
-- over, so that the AIR can be held to them. One that the kill switch takes away is
-- noted for the AIR.

-- check_leases refuses leases that do not begin now, or in a batch that is stopped.
create function cl.check_leases(begun cl.gate_zero_lease[]) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  killed text[] := array(select batch_id from cl.gate_zero_batch where killed_at is not null);
begin
  perform cl.refuse(min('the lease of recovery ' || n.recovery_id || ': ' || case
      when not recoup.timely(n.leased_at) or n.ends_at <= n.leased_at then 'it begins now, and takes time'
      when cardinality(killed) > 0 and (select r.batch_id from cl.gate_zero_recovery r where r.recovery_id = n.recovery_id) = any (killed)
        then 'its batch is stopped by the kill switch' end))
    from unnest(begun) n;
end $$;

-- revoke_leases notes which of the leases that ended were taken by the kill switch.
create function cl.revoke_leases(ended uuid[]) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  killed text[] := array(select batch_id from cl.gate_zero_batch where killed_at is not null);
begin
  if cardinality(ended) > 0 and cardinality(killed) > 0 then
    insert into cl.gate_zero_revoked
      select r.recovery_id from cl.gate_zero_recovery r where r.recovery_id = any (ended) and r.batch_id = any (killed)
      on conflict do nothing;
  end if;
end $$;

create function cl.leases_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  if tg_relid <> 'cl.gate_zero_lease'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform cl.check_leases(array(select row(a.*)::cl.gate_zero_lease from added a where token is not null));
  perform cl.refuse('the lease of recovery ' || min(recovery_id::text) || ': none of it has run out yet') from added where lapses > 0
    having count(*) > 0;
  return null;
end $$;
create trigger guard_insert after insert on cl.gate_zero_lease referencing new table as added
  for each statement execute function cl.leases_added();

create function cl.leases_changed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off set enable_nestloop = off as $$
begin
  if tg_relid <> 'cl.gate_zero_lease'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform cl.refuse(min('the lease of recovery ' || n.recovery_id || ': ' || case
      when o.recovery_id is null then 'it is of that recovery for good'
      when n.lapses < o.lapses then 'lapses are counted until an attempt is used'
      when n.lapses > o.lapses and (n.lapses > o.lapses + 1 or o.token is null or n.token = o.token
        or o.ends_at > recoup.clock() + recoup.tolerance()) then 'it has not run out'
      when n.token = o.token and (n.leased_at <> o.leased_at or n.ends_at < o.ends_at) then 'it is only ever extended'
      when n.token <> o.token and n.lapses = o.lapses then 'a worker holds it' end))
    from changed n left join was o using (recovery_id);
  perform cl.check_leases(array(select row(n.*)::cl.gate_zero_lease
    from changed n join was o using (recovery_id) where n.token is distinct from o.token and n.token is not null));
  perform cl.revoke_leases(array(select o.recovery_id
    from changed n join was o using (recovery_id) where o.token is not null and n.token is null));
  return null;
end $$;
create trigger guard_update after update on cl.gate_zero_lease referencing old table as was new table as changed
  for each statement execute function cl.leases_changed();

create function cl.leases_deleted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  if tg_relid <> 'cl.gate_zero_lease'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform cl.refuse(min('the lease of recovery ' || g.recovery_id || ': lapses are counted until an attempt is used'))
    from gone g where g.lapses > 0 and exists (select from cl.gate_zero_recovery r
      join cl.gate_zero_air a on a.intake_id = r.intake_id and a.event = 'LAPSE' and a.attempt_count = r.attempt_count
      where r.recovery_id = g.recovery_id and r.status = 'ACTIVE');
  perform cl.revoke_leases(array(select recovery_id from gone where token is not null));
  return null;
end $$;
create trigger guard_delete after delete on cl.gate_zero_lease referencing old table as gone
  for each statement execute function cl.leases_deleted();

-- The AIR.

-- air_added lets the AIR record only what is so, once, when it happens.
create function cl.air_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
begin
  if tg_relid <> 'cl.gate_zero_air'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform cl.refuse(min('the AIR row ' || a.event || coalesce(' of intake ' || a.intake_id, ' of batch ' || a.batch_id) || ': ' || case
      when not recoup.timely(a.at) then 'it tells of now, and of no other time'
      when a.intake_id is null then case when not exists (select from cl.gate_zero_batch b where b.batch_id = a.batch_id
        and case a.event when 'KILL' then b.killed_at is not null when 'RELEASE' then b.killed_at is null else b.frozen_at is not null end)
        then 'its batch is not so' end
      when i.intake_id is null or a.batch_id is distinct from i.batch_id then 'there is no such intake in its batch'
      when a.event = 'AUTH' and r.recovery_id is null then case when i.status <> 'AUTHORIZED' then 'its intake is ' || i.status end
      when r.recovery_id is null or a.recovery_id <> r.recovery_id then 'there is no such recovery'
      when a.event in ('AUTH', 'REENTER') then case when r.status <> 'SUCCEEDED' then 'its recovery is ' || r.status end
      when a.event in ('EXHAUSTED', 'LATE_RESULT') then case when r.status <> 'EXHAUSTED' then 'its recovery is ' || r.status end
      when a.event = 'FAIL' and (a.attempt_count > r.attempt_count or (select count(*) from cl.gate_zero_air f
          where f.intake_id = a.intake_id and f.event = 'FAIL') > r.attempt_count + (r.status = 'EXHAUSTED')::int)
        then 'no attempt failed that is not recorded yet: change the recovery first, in the same transaction'
      when a.event = 'LAPSE' and (a.attempt_count is distinct from r.attempt_count or (select count(*) from cl.gate_zero_air f
          where f.intake_id = a.intake_id and f.event = 'LAPSE' and f.attempt_count = r.attempt_count)
          > coalesce((select l.lapses from cl.gate_zero_lease l where l.recovery_id = r.recovery_id), 0))
        then 'no lease ran out that is not recorded yet: count the lapse first, in the same transaction'
      when a.event = 'REVOKE' and (not exists (select from cl.gate_zero_revoked v where v.recovery_id = r.recovery_id)
          or (select count(*) from added d where d.event = 'REVOKE' and d.intake_id = a.intake_id) > 1)
        then 'the kill switch took no lease away that is not recorded yet: end the lease first, in the same transaction' end))
    from added a
    left join cl.gate_zero_intake i on i.intake_id = a.intake_id
    left join cl.gate_zero_recovery r on r.intake_id = a.intake_id;
  delete from cl.gate_zero_revoked v using added a where v.recovery_id = a.recovery_id and a.event = 'REVOKE';
  return null;
end $$;
create trigger guard_insert after insert on cl.gate_zero_air referencing new table as added
  for each statement execute function cl.air_added();
create trigger forbidden before update or delete on cl.gate_zero_air for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on cl.gate_zero_air for each statement execute function recoup.forbid();
-- +goose StatementEnd
