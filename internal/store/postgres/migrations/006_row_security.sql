-- +goose Up
-- Row-level security lets other roles than Recoup's own read only what is theirs
-- (spec 003, Security and Privacy). It is off until the schema's owner says
--
--   select recoup.enable_row_security();
--   grant usage on schema recoup to analyst;
--   grant select on recoup.error_event, recoup.error, recoup.error_table to analyst;
--   alter role analyst set recoup.services = 'billing,search';
--   alter role analyst set recoup.hubs = 'DOL Filings';
--
-- Events and counts are read by service, errors and archived errors by hub. The
-- settings are lists with commas and without spaces around them; a role without
-- the setting reads nothing. A session may change its own settings: this keeps
-- programs that set them for their users apart, not people at a prompt, to whom
-- a role of their own gives no more than the grants say.
--
-- Before PostgreSQL 15 a view reads with the rights of its owner, and so the
-- views that carry the policy's names (outreach.dol_errors) show every row: grant
-- the tables of recoup instead. From 15 on the views read with the rights of
-- whoever asks. Nodes are held to nothing here; they write events with INSERT
-- then, at about 60 % of the rate, because COPY does not know row security.

-- +goose StatementBegin
-- secured reports whether row security is on.
create function recoup.secured() returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select relrowsecurity from pg_class where oid = 'recoup.error_event'::regclass
$$;

-- secure turns row security on for a table: nodes see all, others what the
-- condition says, or nothing if there is none.
create function recoup.secure(relation regclass, condition text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
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

-- secure_partition keeps others from reading a partition past its parent.
create function recoup.secure_partition(part regclass) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if recoup.secured() and not (select relrowsecurity from pg_class where oid = part) then
    perform recoup.secure(part, null);
  end if;
end $$;

-- secure_view makes a view read with the rights of whoever asks, or of its owner.
create function recoup.secure_view(name text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if current_setting('server_version_num')::int >= 150000 then
    execute format('alter view %I.%I set (security_invoker = %s)', split_part(name, '.', 1), split_part(name, '.', 2), recoup.secured());
  end if;
end $$;

create function recoup.row_security_tables() returns table (relation regclass, condition text)
language sql stable set search_path = pg_catalog, pg_temp as $$
  select r, 'service = any (string_to_array(current_setting(''recoup.services'', true), '',''))'
    from unnest('{recoup.error_event,recoup.error_aggregate_hourly,recoup.error_aggregate_daily,recoup.error_aggregate_delta}'::regclass[]) r
  union all
  select r, 'table_name in (select t.table_name from recoup.error_table t
      where t.hub = any (string_to_array(current_setting(''recoup.hubs'', true), '','')))'
    from unnest('{recoup.error,recoup.error_archive}'::regclass[]) r
  union all
  select inhrelid, null from pg_inherits where inhparent = 'recoup.error_event'::regclass
$$;

create function recoup.secure_views() returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select recoup.secure_view(v) from recoup.error_table, unnest(array_remove(array[table_name, archive_name], null)) v
    where recoup.is_view_of(v, 'recoup.error') or recoup.is_view_of(v, 'recoup.error_archive')
$$;

create function recoup.enable_row_security() returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select recoup.secure(relation, condition) from recoup.row_security_tables();
  select recoup.secure_views();
$$;
comment on function recoup.enable_row_security() is
  'Other roles read events of the services in recoup.services and errors of the hubs in recoup.hubs only';

create function recoup.disable_row_security() returns void
language sql set search_path = pg_catalog, pg_temp as $$
  select recoup.release(relation) from recoup.row_security_tables();
  select recoup.secure_views();
$$;
comment on function recoup.disable_row_security() is 'Takes recoup.enable_row_security() back';
-- +goose StatementEnd
