-- +goose Up
-- +goose StatementBegin
-- The past as files: of each day, the file that has its events, and how many they are. A
-- file that is written again because events came late takes the place of the older one.
create table recoup.event_file (
  day        timestamptz primary key check (extract(epoch from day)::bigint % 86400 = 0),
  place      text not null,
  file       text not null,
  version    int not null check (version > 0),
  events     bigint not null check (events >= 0),
  bytes      bigint not null check (bytes > 0),
  sha256     text not null check (sha256 ~ '^[0-9a-f]{64}$'),
  first_ts   timestamptz,
  last_ts    timestamptz,
  written_at timestamptz not null
) with (fillfactor = 70);
create trigger forbidden before delete on recoup.event_file
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.event_file
  for each statement execute function recoup.forbid();

-- Whether events are written to files before their month is dropped, and where.
create table recoup.event_filing (
  name  text primary key check (name = 'events'),
  place text not null check (place <> ''),
  since timestamptz not null
);
create trigger forbidden_truncate before truncate on recoup.event_filing
  for each statement execute function recoup.forbid();

-- drops_views_only reports whether DROP TABLE … CASCADE would drop nothing besides a table
-- but views, rules, functions, types, operators and casts of other roles: nothing of the schema's
-- owner, and nothing with data. A role needs no privilege on a table to create a view over it, or
-- an operator on its rows. A cast has no owner: it counts as that of its function, or of the type
-- that is not the table's. What belongs to the table itself goes with it anyway.
create function recoup.drops_views_only(target regclass) returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  with recursive own (class, id) as (
    select 'pg_class'::regclass::oid, target::oid
    union
    select d.classid, d.objid from own o join pg_depend d on d.refclassid = o.class and d.refobjid = o.id where d.deptype in ('a', 'i', 'P', 'S')),
  dropped (class, id) as (
    select 'pg_class'::regclass::oid, target::oid
    union
    select n.class, n.id from dropped o cross join lateral (
      select d.classid, d.objid from pg_depend d where d.refclassid = o.class and d.refobjid = o.id
      union all
      select d.refclassid, d.refobjid from pg_depend d where d.classid = o.class and d.objid = o.id and d.deptype in ('i', 'e')) n (class, id)),
  other (relkind, owner) as (
    select case when c.oid is not null then c.relkind when r.oid is not null then 'v' else '?' end,
        coalesce(c.relowner, r.relowner, p.proowner, t.typowner, o.oprowner, k.opcowner, f.opfowner, s.owner)
      from (select * from dropped except select * from own) x
      left join pg_class c on x.class = 'pg_class'::regclass and c.oid = x.id and (c.relkind <> 'm' or not c.relispopulated)
      left join pg_rewrite w on x.class = 'pg_rewrite'::regclass and w.oid = x.id
      left join pg_trigger g on x.class = 'pg_trigger'::regclass and g.oid = x.id
      left join pg_attrdef a on x.class = 'pg_attrdef'::regclass and a.oid = x.id
      left join pg_class r on r.oid = coalesce(w.ev_class, g.tgrelid, a.adrelid) and (a.oid is null or r.relkind = 'v')
      left join pg_proc p on x.class = 'pg_proc'::regclass and p.oid = x.id
      left join pg_type t on x.class = 'pg_type'::regclass and t.oid = x.id
      left join pg_operator o on x.class = 'pg_operator'::regclass and o.oid = x.id
      left join pg_opclass k on x.class = 'pg_opclass'::regclass and k.oid = x.id
      left join pg_amop m on x.class = 'pg_amop'::regclass and m.oid = x.id
      left join pg_amproc q on x.class = 'pg_amproc'::regclass and q.oid = x.id
      left join pg_opfamily f on f.oid = coalesce(m.amopfamily, q.amprocfamily, case when x.class = 'pg_opfamily'::regclass then x.id end)
      left join lateral (select coalesce((select u.proowner from pg_proc u where u.oid = s.castfunc),
          (select u.typowner from pg_type u where u.oid = case when exists (select from own w where w.class = 'pg_type'::regclass and w.id = s.castsource) then s.casttarget else s.castsource end)) as owner
        from pg_cast s where x.class = 'pg_cast'::regclass and s.oid = x.id) s on true)
  select not exists (select from other o where o.owner is null or o.owner = (select relowner from pg_class where oid = target)
    or o.relkind not in ('v', 'm', 'i', 't', 'c', '?'))
$$;

-- drop_partition drops the partition of a month whole, once all of it is older than
-- the policy keeps such rows: events for themselves, history as long as the longest
-- life of an error and its archive together. The database's clock decides, and the end
-- of the partition as the catalog has it, not as its name says. While events are filed, a month of which one
-- is in no file stays: no file has more events than its day, so that the sums say it.
-- What was counted when it came is asked first, because it costs nothing, then the rows.
-- Views of others over the partition go with it; what has data of others keeps it.
-- Reports wait behind the lock that it waits for, so it waits for a moment only, and is tried again.
create function recoup.drop_partition(parent text, month date) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set timezone = 'UTC' set datestyle = 'ISO' set lock_timeout = '100ms' as $$
declare
  first date := recoup.partition_month(parent, month, '0001-01-01');
  name  text := format('%s_y%sm%s', parent, to_char(first, 'YYYY'), to_char(first, 'MM'));
  kept  interval := case parent when 'error_event' then (select event_retention from recoup.ledger_policy)
    else (select max(ttl) + max(retention) from recoup.error_table) end;
  since timestamptz := first::timestamp at time zone 'UTC';
  until timestamptz := (first + interval '1 month') at time zone 'UTC';
  ends  timestamptz := (select substring(pg_get_expr(c.relpartbound, c.oid) from ' TO \(''([^'']+)''\)$')::timestamptz
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = to_regclass(format('recoup.%I', parent)) and c.oid = to_regclass(format('recoup.%I', name)));
  filed bigint;
  n     bigint;
begin
  if coalesce(ends > now() or ends + kept > recoup.clock() + recoup.tolerance(), true) then
    return false; -- too young, or there is no such partition
  end if;
  if parent = 'error_event' and exists (select from recoup.event_filing) then
    select coalesce(sum(f.events), 0) into filed from recoup.event_file f where f.day >= since and f.day < until;
    if filed < (select coalesce(sum(count), 0) from recoup.error_aggregate_daily where day >= first and day < first + interval '1 month')
        + (select coalesce(sum(count), 0) from recoup.error_aggregate_delta where hour >= since and hour < until) then
      return false;
    end if;
    execute format('lock table recoup.%I in share row exclusive mode', name); -- nothing is added while it is counted
    execute format('select count(*) from recoup.%I', name) into n;
    if n > filed then
      return false;
    end if;
  end if;
  execute format('drop table recoup.%I %s', name, case when recoup.drops_views_only(format('recoup.%I', name)::regclass) then 'cascade' else '' end);
  return true;
end $$;
-- +goose StatementEnd
