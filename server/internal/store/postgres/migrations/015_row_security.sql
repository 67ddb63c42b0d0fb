-- +goose Up
-- +goose StatementBegin
-- Row-level security lets other roles than Recoup's own read only what is theirs
-- (spec 003, Security and Privacy). It is off until the schema's owner says
--
--   select recoup.enable_row_security();
--   create role ada login in role recoup_reader;
--   select recoup.allow_read('ada', 'service', 'billing');
--   select recoup.allow_read('ada', 'hub', 'DOL Filings');
--
-- Events and counts are read by service; errors, archived errors, history, the tables of
-- the policy and the views that carry its names by hub; Gate Zero as a whole. What a role
-- may read is in a table that only the owner can change, and goes for its members
-- as well; a role that is not in it reads nothing.
--
-- Nodes and pipelines are held to nothing here. Nodes write events with INSERT
-- then, at about 60 % of the rate, because COPY does not know row security.
create table recoup.read_grant (
  reader    name not null,
  kind      text not null check (kind in ('service', 'hub', 'gate_zero')),
  name      text not null, -- of a service, or the id of a hub; *: all of them
  reader_id oid not null,  -- of the role: another role of that name, made after this one was dropped, reads nothing
  primary key (reader, kind, name)
);

-- secured reports whether row security is on.
create function recoup.secured() returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select relrowsecurity from pg_class where oid = 'recoup.error_event'::regclass
$$;

-- Policies and views pass current_user to the functions below: the role that reads, also where a
-- session runs another role's code, such as an index expression in autovacuum or a function that
-- is SECURITY DEFINER. The functions run as the owner and cannot see that role themselves.

-- asks reports whether the session may ask what a role may read: as that role or a member of it.
create function recoup.asks(who name) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from pg_roles r where r.rolname = who and pg_has_role(session_user, r.oid, 'member'))
$$;

-- granted lists what of a kind a role may read by itself or as a member of others.
create function recoup.granted(of_kind text, who name) returns text[]
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(distinct g.name), '{}') from recoup.read_grant g join pg_roles r on r.rolname = g.reader and r.oid = g.reader_id
   where g.kind = of_kind and recoup.asks(who) and pg_has_role(who, r.oid, 'usage')
$$;

-- readable lists the tables whose hub a role may read.
create function recoup.readable(who name) returns text[]
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce(array_agg(t.table_name::text), '{}') from recoup.error_table t, recoup.granted('hub', who) hubs
   where array['*', t.hub] && hubs
$$;

-- sees_all reports whether a role is held to nothing.
create function recoup.sees_all(who name) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select not recoup.secured()
    or recoup.asks(who) and exists (select from pg_roles r
      where (r.rolname in ('recoup_app', 'recoup_writer') or r.oid = (select relowner from pg_class where oid = 'recoup.error'::regclass)) and pg_has_role(who, r.oid, 'usage'))
$$;

-- sees reports whether a role may read a table by its name of the policy.
create function recoup.sees(governed text, who name) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select recoup.sees_all(who) or governed = any (recoup.readable(who))
$$;

-- What happened to errors: the transitions of each, and the last one, which an archived
-- error carries. Who may read the error may read its history. Each branch is a view of
-- its own: a barrier around the union would not keep a reader's own function, if it is
-- cheap enough, from being asked about the rows of each branch before the conditions here.
create view recoup.error_history_open as
  select h.* from recoup.transition h
   where (select recoup.sees_all(current_user))
      or exists (select from recoup.error e where e.error_id = h.error_id and e.table_name = any (array(select unnest(recoup.readable(current_user)))))
      or exists (select from recoup.error_archive a where a.error_id = h.error_id and a.table_name = any (array(select unnest(recoup.readable(current_user)))));
create view recoup.error_history_end (
  error_id, at, seq, input, actor, reason, policy_version, worker, claimed_at, attempt, was_state, was_disposition, was_blocking,
  was_escalation_level, was_retry_count, was_next_retry_at, was_expires_at, was_owner, state, disposition, blocking, escalation_level, retry_count,
  next_retry_at, expires_at, owner) as
  select a.error_id, a.archived_at, a.end_seq, a.end_input, a.archived_by, a.end_reason, a.end_policy, a.end_worker, a.end_claimed_at, a.end_attempt,
    a.was_state, a.disposition, a.was_blocking, a.escalation_level::int, a.retry_count, a.next_retry_at, a.expires_at, coalesce(a.assigned_to, a.escalated_to, 'system'),
    a.state, a.disposition, a.blocking, a.escalation_level::int, a.retry_count, a.next_retry_at, a.expires_at, coalesce(a.assigned_to, a.escalated_to, 'system') from recoup.error_archive a
   where (select recoup.sees_all(current_user)) or a.table_name = any (array(select unnest(recoup.readable(current_user))));
create view recoup.error_history as
  select * from recoup.error_history_open union all select * from recoup.error_history_end;

-- When errors began to block and ceased to.
create view recoup.gate_log as
  select seq, entity_id, error_id, blocks, at from recoup.gate_entry
  union all select end_gate, entity_id, error_id, false, archived_at from recoup.error_archive where end_gate is not null;

-- allow_read lets a role read the events of a service, or the errors of a hub,
-- which may be named by its id or as people know it. A name that two hubs have is the id, or is refused.
create function recoup.allow_read(reader name, kind text, name text default '*') returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  known text := name;
begin
  if to_regrole(quote_ident(reader)) is null then
    raise exception using errcode = 'RC001', message = format('there is no role %I', reader);
  end if;
  if kind not in ('service', 'hub', 'gate_zero') then
    raise exception using errcode = 'RC001', message = format('unknown kind %L; kinds are: service, hub, gate_zero', kind);
  end if;
  if kind = 'hub' and name <> '*' then
    select case when bool_or(t.hub = $3) then $3 when count(distinct t.hub) = 1 then min(t.hub) end into known
      from recoup.error_table t where $3 in (t.hub, t.hub_name);
    if known is null then
      raise exception using errcode = 'RC001', message = format('unknown hub %L; hubs are: %s', name,
        (select coalesce(string_agg(distinct t.hub, ', '), 'none, until a node has started') from recoup.error_table t where not t.retired));
    end if;
  end if;
  insert into recoup.read_grant values (reader, kind, known, to_regrole(quote_ident(reader)))
    on conflict on constraint read_grant_pkey do update set reader_id = excluded.reader_id;
end $$;

-- forbid_read takes back what allow_read has given to a role.
create function recoup.forbid_read(reader name, kind text, name text default '*') returns void
language sql set search_path = pg_catalog, pg_temp as $$
  delete from recoup.read_grant g where g.reader = $1 and g.kind = $2 and ($3 = g.name
    or $2 = 'hub' and exists (select from recoup.error_table t where t.hub = g.name and t.hub_name = $3))
$$;

-- secure turns row security on for a table: nodes see all, others what the
-- condition says, or nothing if there is none.
create function recoup.secure(relation regclass, condition text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if to_regrole('recoup_app') is null then
    raise exception using errcode = 'RC001', message = 'row security needs the role recoup_app: an administrator creates it with CREATE ROLE recoup_app LOGIN, then run recoup migrate up';
  end if;
  perform recoup.release(relation);
  execute format('create policy node on %s to recoup_app using (true) with check (true)', relation);
  if condition is not null then
    execute format('create policy reader on %s for select using (%s)', relation, condition);
  end if;
  execute format('alter table %s enable row level security', relation);
end $$;

-- release turns it off.
create function recoup.release(relation regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  execute format('drop policy if exists node on %s', relation);
  execute format('drop policy if exists reader on %s', relation);
  execute format('alter table %s disable row level security', relation);
end $$;

-- withhold_statistics has no statistics collected on the text of a relation, apart from columns with an index and
-- from words that Recoup itself writes: EXPLAIN estimates from them how many rows of all hubs have a text, and
-- operators such as = and < are asked before row security is. No plan needs them. ANALYZE does not delete what is
-- there already, so they are withheld from the beginning, whether or not row security is on.
create function recoup.withhold_statistics(relation regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  own  text[] := '{table_name,reported_table,policy_version,severity,category,class,state,disposition,last_result,
    archive_reason,final_disposition,was_state,was_disposition,input,end_input,status,event}';
  name text;
begin
  for name in select a.attname from pg_attribute a join pg_type t on t.oid = a.atttypid
      where a.attrelid = relation and a.attnum > 0 and not a.attisdropped and a.attstattarget is distinct from 0
        and (t.typcategory = 'S' or t.oid in ('json'::regtype, 'jsonb'::regtype)) and (a.attname <> all (own) or relation = to_regclass('cl.gate_zero_intake')) -- whose state is one of the country
        and not exists (select from pg_index i where i.indrelid = relation and a.attnum = any (i.indkey)) order by a.attnum loop
    execute format('alter table %s alter column %I set statistics 0', relation, name);
  end loop;
end $$;

-- secure_partition keeps others from reading a partition past its parent, and statistics from its text.
create function recoup.secure_partition(part regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.withhold_statistics(part);
  if recoup.secured() and not (select relrowsecurity from pg_class where oid = part) then
    perform recoup.secure(part, null);
  end if;
end $$;

-- row_security_tables lists what is secured and what others may read of it. What
-- a role was granted is looked up once for a query, not for each row.
create function recoup.row_security_tables() returns table (relation regclass, condition text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select r, 'service = any (array(select unnest(recoup.granted(''service'', current_user))))
      or (select ''*'' = any (recoup.granted(''service'', current_user)))'
    from unnest('{recoup.error_event,recoup.error_aggregate_hourly,recoup.error_aggregate_daily,recoup.error_aggregate_delta}'::regclass[]) r
  union all
  select r, 'table_name = any (array(select unnest(recoup.readable(current_user))))'
    from unnest('{recoup.error,recoup.error_archive,recoup.due,recoup.error_table,recoup.name_taken}'::regclass[]) r
  union all
  select to_regclass('recoup.source_detail'), 'table_name = any (array(select unnest(recoup.readable(current_user))))'
  union all
  select r, null from unnest('{recoup.lease,recoup.resolved,recoup.transition}'::regclass[]) r
  union all
  select to_regclass(r), '(select ''*'' = any (recoup.granted(''gate_zero'', current_user)))'
    from unnest('{cl.gate_zero_batch,cl.gate_zero_intake,cl.gate_zero_recovery,cl.gate_zero_air}'::text[]) r
  union all
  select inhrelid, null from pg_inherits where inhparent in ('recoup.error_event'::regclass, 'recoup.transition'::regclass)
$$;

-- raise_barriers makes barriers of the views that carry the policy's names and of the
-- branches of the history, or takes that back. They belong to the schema's owner, whom row security does not hold: a
-- reader's own function in a condition would else be asked about rows of other hubs.
-- Lists by time cannot stop early then.
create function recoup.raise_barriers(up boolean) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v record;
begin
  execute format('alter view recoup.error_history_open set (security_barrier = %s)', up);
  execute format('alter view recoup.error_history_end set (security_barrier = %s)', up);
  for v in select t.table_name as name, 'recoup.error'::regclass as source from recoup.error_table t
      union all select t.archive_name, 'recoup.error_archive' from recoup.error_table t where t.archive_name is not null loop
    continue when not recoup.is_view_of(v.name, v.source);
    execute format('alter view %I.%I set (security_barrier = %s)', split_part(v.name, '.', 1), split_part(v.name, '.', 2), up);
  end loop;
end $$;

-- grant_reader gives analysts the tables that are read by hub, or, while row security is on, takes
-- them back: EXPLAIN ANALYZE counts the rows that an index condition finds before the policy is asked.
-- The policies remain for roles with grants of their own.
create function recoup.grant_reader() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if to_regrole('recoup_reader') is null then
    return;
  end if;
  if recoup.secured() then
    revoke select on recoup.error, recoup.error_archive, recoup.source_detail from recoup_reader;
  else
    grant select on recoup.error, recoup.error_archive to recoup_reader;
    grant select (error_id, table_name, details) on recoup.source_detail to recoup_reader;
  end if;
end $$;

create function recoup.enable_row_security() returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select recoup.raise_barriers(true);
  select recoup.secure(relation, condition), recoup.withhold_statistics(relation) from recoup.row_security_tables();
  select recoup.grant_reader();
$$;
comment on function recoup.enable_row_security() is 'Other roles than nodes and pipelines read only what recoup.allow_read has given them';

create function recoup.disable_row_security() returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select recoup.release(relation) from recoup.row_security_tables();
  select recoup.raise_barriers(false);
  select recoup.grant_reader();
$$;
comment on function recoup.disable_row_security() is 'Takes recoup.enable_row_security() back';

select recoup.withhold_statistics(relation) from recoup.row_security_tables();
-- +goose StatementEnd
