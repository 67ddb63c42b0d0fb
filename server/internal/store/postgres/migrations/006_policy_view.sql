-- +goose Up
-- +goose StatementBegin
-- The tables that the policy names, as views over recoup.error and its archive.
-- Pipelines insert into them, analysts read them. Nodes call sync_table for each
-- table when a policy comes into force.

-- The view itself.

-- is_view_of tells a view of ours from whatever else may have its name.
create function recoup.is_view_of(name text, source regclass) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from pg_depend d join pg_rewrite r on r.oid = d.objid join pg_class v on v.oid = r.ev_class
    where d.classid = 'pg_rewrite'::regclass and d.refobjid = source and v.relkind = 'v'
      and v.relowner = (select relowner from pg_class where oid = source)
      and v.relname = split_part(name, '.', 2)
      and v.relnamespace = (select oid from pg_namespace where nspname = split_part(name, '.', 1)))
$$;

-- name_standing says what a name of the policy is in the database: VIEW, our view of
-- source; ADOPTED, a table that is governed in place (016_adoption.sql), also while another table
-- is exchanged for it and nothing has its name; FREE, nothing yet; TAKEN, something else, or a place where we may make no view, and whose it is.
-- It answers for the owner of the schema, who makes views.
create function recoup.name_standing(name text, source regclass, out standing text, out kind text, out owner text)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  folder  text := split_part(name, '.', 1);
  place   oid := (select oid from pg_namespace where nspname = folder);
  relkind "char";
  present oid;
  who     oid;
begin
  select c.oid, c.relkind, c.relowner into present, relkind, who
    from pg_class c where c.relnamespace = place and c.relname = split_part(name, '.', 2);
  standing := case when recoup.is_view_of(name, source) then 'VIEW'
    when exists (select from recoup.adoption a where a.table_name = name and (recoup.adopted_source(a.adoption_id) = present
      or present is null and replace(a.source, '"', '') = name)) then 'ADOPTED' end;
  if standing is not null then
    return;
  end if;
  if present is null then -- a view is a type too; arrays of others give way
    select 'c', t.typowner into relkind, who from pg_type t where t.typnamespace = place and t.typname = split_part(name, '.', 2)
      and not exists (select from pg_type e where e.typarray = t.oid);
  end if;
  if relkind is not null then
    kind := case relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'f' then 'foreign table' when 'v' then 'view'
      when 'm' then 'materialized view' when 'S' then 'sequence' when 'c' then 'type' else 'index' end;
  elsif place is null and not has_database_privilege(current_database(), 'create') then
    kind := 'missing schema';
    select datdba into who from pg_database where datname = current_database();
  elsif place is not null and not has_schema_privilege(place, 'create') then
    kind := 'schema';
    select nspowner into who from pg_namespace where oid = place;
  end if;
  standing := case when kind is null then 'FREE' else 'TAKEN' end;
  owner := pg_get_userbyid(who);
end $$;

-- other_name is the second name that an entity has in every view, the same in all where
-- possible. The promotion check of spec 000, 6.3 asks each table for its outreach_id, whatever
-- the policy calls it: that is the second name as soon as one table has that column.
create function recoup.other_name(entity_column text) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select case
      when other_name.entity_column <> 'outreach_id'
        and exists (select from recoup.error_table t where t.entity_column = 'outreach_id') then 'outreach_id'
      when other_name.entity_column = 'entity_id' then 'entity'
      else 'entity_id' end
$$;

-- rename_entity gives the entity of a view another name, and its second name, the last
-- column of the view, too.
create function recoup.rename_entity(target text, was text, is_now text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  other text := (select attname from pg_attribute where attrelid = target::regclass order by attnum desc limit 1);
  step  record;
begin
  for step in select * from (values (was, '_entity'), (other, '_other'), ('_entity', is_now),
      ('_other', recoup.other_name(is_now))) as v (old, new) loop
    if exists (select from pg_attribute where attrelid = target::regclass and attname = step.old) then
      execute format('alter view %s rename column %I to %I', target, step.old, step.new);
    end if;
  end loop;
end $$;

-- leased_column is a column of the view of an error that depends on its lease, or
-- on whether it is resolved; null for all others.
create function recoup.leased_column(name text) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select replace(case
      when name in ('lease_token', 'lease_worker', 'leased_at', 'lease_ends_at') then '(select d.' || name || ' %)'
      when name = 'next_retry_at' then 'coalesce((select d.lease_ends_at %), next_retry_at)'
      when name = 'last_retry_at' then 'coalesce((select d.leased_at %), last_retry_at)'
      when name = 'updated_at' then 'greatest((select d.leased_at %), updated_at)'
      when name = 'replaceable' then '(replaceable and state <> ''RESOLVED'')'
      when name = 'next_reminder_at' then 'case when state <> ''RESOLVED'' then next_reminder_at end'
    end || ' as ' || name, '%', 'from recoup.due d where d.error_id = error.error_id')
$$;

-- make_view makes or replaces a view over recoup.error or its archive, with its defaults
-- or its guard. With row security on it is a barrier (raise_barriers).
-- A row that has become an orphan is one of the view's until the end of the
-- transaction that wrote it, or the check option would refuse it.
create function recoup.make_view(target text, source regclass, t recoup.error_table) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  live    boolean := source = 'recoup.error'::regclass;
  columns text;
begin
  select string_agg(case
      when attname = 'entity_id' then format('entity_id as %I', t.entity_column)
      when attname = 'created_at' and live then 'created_at, null::timestamptz as archived_at' -- of spec 000, 6.3
      when live then coalesce(recoup.leased_column(attname), quote_ident(attname))
      else quote_ident(attname) end, ', ' order by attnum)
      || case when live then (select ', ' || string_agg(recoup.leased_column(l.attribute), ', ' order by l.place)
        from unnest('{lease_token,lease_worker,leased_at,lease_ends_at}'::text[]) with ordinality l (attribute, place)) else '' end
      || format(', entity_id as %I', recoup.other_name(t.entity_column))
    into columns
    from pg_attribute where attrelid = source and attnum > 0 and not attisdropped;
  execute format('create or replace view %s with (security_barrier = %s) as select %s from %s where %s and (select recoup.sees(%L, current_user)) %s',
    target, recoup.secured(), columns, source, case when live
      then format('(table_name = %1$L or reported_table = %1$L and policy_version is null and updated_at = now())', t.table_name)
      else format('table_name = %L', t.table_name) end,
    t.table_name, case when live then 'with local check option' end);
  if live then
    execute format('alter view %s alter column table_name set default %L,
      alter column disposition set default %L, alter column blocking set default %L,
      alter column expires_at set default now() + %L::interval',
      target, t.table_name, t.default_disposition,
      t.blocks and t.default_disposition in ('RETRY', 'PARKED'), t.ttl);
    return;
  end if;
  if exists (select from pg_trigger where tgrelid = target::regclass and tgname = 'forbidden') then
    execute format('drop trigger forbidden on %s', target);
  end if;
  execute format('create trigger forbidden instead of insert or update or delete on %s
    for each row execute function recoup.forbid()', target);
end $$;

-- view_text returns everything of a view that make_view sets: two views with the same
-- text are equal.
create function recoup.view_text(target regclass) returns text
language sql stable set search_path = pg_catalog, pg_temp as $$
  select concat_ws(E'\n', pg_get_viewdef(v.oid), (select string_agg(o, ', ' order by o) from unnest(v.reloptions) o),
      (select string_agg(format('%I default %s', a.attname, pg_get_expr(d.adbin, d.adrelid)), ', ' order by d.adnum)
        from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum where d.adrelid = v.oid),
      (select string_agg(concat_ws(' ', quote_ident(tgname), tgtype, tgenabled, tgfoid::regprocedure), ', ' order by tgname)
        from pg_trigger where tgrelid = v.oid and not tgisinternal))
    from pg_class v where v.oid = target
$$;

-- view_is_current reports whether a view is as make_view would make it. It makes a second
-- view and compares, because replacing a view waits for every transaction that has read it,
-- and every later reader waits behind that.
create function recoup.view_is_current(target regclass, source regclass, t recoup.error_table) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  draft text := format('recoup.draft_%s', pg_backend_pid());
  equal boolean;
begin
  perform recoup.make_view(draft, source, t);
  equal := recoup.view_text(draft::regclass) = recoup.view_text(target);
  execute format('drop view %s', draft);
  return equal;
end $$;

-- sync_view makes or renews the view that carries a name of the policy, which is
-- ours or free, unless it is current. It waits for readers of the view for a moment only.
create function recoup.sync_view(name text, source regclass, t recoup.error_table) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' as $$
declare
  folder  text := split_part(name, '.', 1);
  target  text := format('%I.%I', folder, split_part(name, '.', 2));
  present regclass := to_regclass(target);
  entity  text := (select v.attname from pg_attribute v join pg_attribute e on e.attnum = v.attnum
    where v.attrelid = present and e.attrelid = source and e.attname = 'entity_id');
begin
  if to_regnamespace(quote_ident(folder)) is null then
    execute format('create schema if not exists %I', folder);
  end if;
  if present is null or not recoup.view_is_current(present, source, t) then
    if entity <> t.entity_column or recoup.other_name(t.entity_column) <>
        (select attname from pg_attribute where attrelid = present order by attnum desc limit 1) then
      perform recoup.rename_entity(target, entity, t.entity_column);
    end if;
    perform recoup.make_view(target, source, t);
  end if;
  perform recoup.grant_view(name, source);
end $$;

-- sync_name gives a name of the policy to its view, or notes what else has it and
-- leaves that alone. What comes in between, or is no reason that name_standing knows,
-- ends no node either: the view is undone, and the reason noted. A view that another
-- session has locked is noted as such; nodes retry it (names).
create function recoup.sync_name(name text, source regclass, t recoup.error_table) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  reason text;
  is_now record;
begin
  select * into is_now from recoup.name_standing(name, source);
  if is_now.standing <> 'TAKEN' then
    begin
      if is_now.standing <> 'ADOPTED' then
        perform recoup.sync_view(name, source, t);
      end if;
      delete from recoup.name_taken n where n.name = sync_name.name;
      return;
    exception when lock_not_available then
      reason := 'locked view';
    when insufficient_privilege or duplicate_schema or duplicate_table or duplicate_object or unique_violation
        or invalid_table_definition or wrong_object_type or duplicate_column or undefined_column or dependent_objects_still_exist then
      reason := sqlerrm;
      select * into is_now from recoup.name_standing(name, source);
    end;
  end if;
  insert into recoup.name_taken as n (name, table_name, kind, owner)
    values (name, t.table_name, coalesce(is_now.kind, reason), is_now.owner)
    on conflict on constraint name_taken_pkey do update set table_name = excluded.table_name, kind = excluded.kind, owner = excluded.owner, since = now()
    where (n.table_name, n.kind, n.owner) is distinct from (excluded.table_name, excluded.kind, excluded.owner);
end $$;

-- names lists the names of the policy and what each is in the database. A view that
-- could not be renewed is not ours, except one that another session had locked: that one
-- remains ours, with the kind "locked view".
create function recoup.names() returns table (name text, table_name text, archive boolean, standing text, kind text, owner text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select p.name, p.table_name, p.archive,
      case when s.standing = 'VIEW' and n.kind <> 'locked view' then 'TAKEN' else s.standing end,
      coalesce(s.kind, n.kind), s.owner
    from (select t.table_name as name, t.table_name, false as archive, 'recoup.error'::regclass as source
            from recoup.error_table t where not t.retired
          union all
          select t.archive_name, t.table_name, true, 'recoup.error_archive'
            from recoup.error_table t where not t.retired and t.archive_name is not null) p
    cross join lateral recoup.name_standing(p.name, p.source) s
    left join recoup.name_taken n on n.name = p.name
   order by p.table_name, p.archive
$$;

-- grant_view lets nodes, pipelines and analysts use a view of ours, once their
-- roles exist. A pipeline says what failed and how; what follows is the policy's.
create function recoup.grant_view(name text, source regclass) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  folder text := split_part(name, '.', 1);
  target text := format('%I.%I', folder, split_part(name, '.', 2));
  live   boolean := source = 'recoup.error'::regclass;
  who    text;
  entity text;
  other  text; -- its second name: that of a view which could not be renewed is an earlier one
begin
  if not recoup.is_view_of(name, source) then
    return;
  end if;
  foreach who in array '{recoup_app,recoup_writer,recoup_reader}'::text[] loop
    continue when to_regrole(who) is null;
    if folder <> 'public' then -- which others own and everyone may use
      execute format('grant usage on schema %I to %I', folder, who);
    end if;
    execute format('grant select on %s to %I', target, who);
    if live and who = 'recoup_app' then
      execute format('grant insert on %s to %I', target, who);
    elsif live and who = 'recoup_writer' then
      select entity_column into entity from recoup.error_table where table_name = name;
      select attname into other from pg_attribute where attrelid = target::regclass order by attnum desc limit 1;
      execute format('grant insert (error_id, %I, %I, code, severity, message, correlation_id) on %s to %I', entity, other, target, who);
    end if;
  end loop;
end $$;

-- What follows a new policy.

-- check_policy holds the caller to the policies that are on record: what is not
-- there was never in force, and what was is never changed. Tables come before the ledger, in one
-- transaction: a policy that the ledger follows has no more tables. Nor is the mirror a way
-- to a view among the tables of the database itself.
create function recoup.check_policy(t recoup.error_table, was recoup.error_table) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  recorded boolean := exists (select from recoup.policy_version v where v.version = t.policy_version);
  bad      text := case
    when not recorded and exists (select from recoup.policy_version) then 'its policy ' || t.policy_version || ' is not on record'
    when recorded and was.policy_version = t.policy_version
      and (row(was.hub, was.entity_column, was.dispositions, was.default_disposition, was.ttl, was.blocks, was.dead_letter, was.archive_name, was.retention,
          was.hub_name, was.entity_required, was.source_rules)
        is distinct from row(t.hub, t.entity_column, t.dispositions, t.default_disposition, t.ttl, t.blocks, t.dead_letter, t.archive_name, t.retention,
          t.hub_name, t.entity_required, t.source_rules)
        or not was.retired and row(t.retired, t.orphans) is distinct from row(false, was.orphans)) -- what a newer policy has retired is no orphans' table any more
      then 'a policy that was in force is never changed'
    when t.retired then 'what a policy has is not retired'
    when (t.table_name || coalesce(' ' || t.archive_name, '')) ~ '(^| )(recoup|cl|pg_[a-z0-9_]*|information_schema)\.' then 'its name is among our own'
    when array_position(t.dispositions, null) is not null then 'a disposition is missing'
    when t.default_disposition <> all (t.dispositions) then 'its default is not allowed'
    when t.ttl <= interval '0' or t.retention <= interval '0' then 'what is kept is kept for some time'
    when t.ttl > interval '1000 years' or t.retention > interval '1000 years' then 'errors and archives are kept for at most 1000 years'
    when recorded and was.policy_version is distinct from t.policy_version
      and exists (select from recoup.ledger_policy l where l.policy_version = t.policy_version) then 'its policy ' || t.policy_version || ' has no such table' end;
begin
  if bad is not null then
    raise exception using errcode = 'RC001', message = t.table_name || ': ' || bad;
  end if;
end $$;

-- newest_policy reports whether a policy is the last on record, or none is. It refuses NULL, which is no policy.
create function recoup.newest_policy(name text) returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if name is null then
    raise exception using errcode = 'RC001', message = 'the version of the policy is missing';
  end if;
  return coalesce((select v.version = name from recoup.policy_version v order by v.number desc limit 1), true);
end $$;

-- sync_table takes over a table of the policy, and gives it and its archive their
-- names where these are not taken.
create function recoup.sync_table(t recoup.error_table) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was recoup.error_table;
begin
  if t.table_name is null or t.policy_version is null then
    raise exception using errcode = 'RC001', message = 'the name of the table or the version of its policy is missing';
  end if;
  select * into was from recoup.error_table o where o.table_name = t.table_name;
  perform recoup.check_policy(t, was);
  if not recoup.newest_policy(t.policy_version) then
    return; -- whoever has the newest follows it
  end if;
  insert into recoup.error_table select t.*
    on conflict (table_name) do update set hub = excluded.hub, entity_column = excluded.entity_column,
      dispositions = excluded.dispositions, default_disposition = excluded.default_disposition, ttl = excluded.ttl,
      blocks = excluded.blocks, dead_letter = excluded.dead_letter, archive_name = excluded.archive_name,
      retention = excluded.retention, policy_version = excluded.policy_version, retired = excluded.retired,
      hub_name = excluded.hub_name, entity_required = excluded.entity_required, orphans = excluded.orphans,
      source_rules = excluded.source_rules;
  insert into recoup.shortest_retention as s select t.table_name, t.retention where t.retention is not null
    on conflict (table_name) do update set retention = excluded.retention where excluded.retention < s.retention;
  perform recoup.sync_name(t.table_name, 'recoup.error', t);
  if t.archive_name is not null then
    perform recoup.sync_name(t.archive_name, 'recoup.error_archive', t);
  end if;
end $$;

-- retire_tables marks what is not in the newest policy any more. Rows may remain. What
-- that policy has brought is not among it.
create function recoup.retire_tables(version text, kept text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if version is null or kept is null or array_position(kept, null) is not null then
    raise exception using errcode = 'RC001', message = 'the version of the policy or the name of a table is missing';
  end if;
  update recoup.error_table set retired = true, orphans = false
   where not retired and table_name <> all (kept) and recoup.newest_policy(version)
     and (policy_version <> version or not exists (select from recoup.policy_version));
  delete from recoup.name_taken n
   where not exists (select from recoup.error_table t where not t.retired and n.name in (t.table_name, t.archive_name));
end $$;

-- sync_ledger follows what the newest policy says of the ledger, once.
create function recoup.sync_ledger(version text, events interval, rollups interval) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  was recoup.ledger_policy;
begin
  select * into was from recoup.ledger_policy;
  if not recoup.newest_policy(version) then
    return; -- whoever has the newest follows it
  end if;
  if (events <= interval '1000 years' and rollups <= interval '1000 years') is not true then
    raise exception using errcode = 'RC001', message = format('the ledger keeps events and counts for at most 1000 years; got %s and %s', events, rollups);
  end if;
  if was.policy_version = version and (was.event_retention, was.rollup_retention) is distinct from (events, rollups)
    and exists (select from recoup.policy_version) then
    raise exception using errcode = 'RC001', message = 'the ledger: a policy that was in force is never changed';
  end if;
  update recoup.ledger_policy set event_retention = events, rollup_retention = rollups, policy_version = version
   where (event_retention, rollup_retention, policy_version) is distinct from (events, rollups, version);
end $$;
-- +goose StatementEnd
