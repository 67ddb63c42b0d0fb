-- All definitions of a database as lines of text, in a fixed order: for comparing two
-- states where no pg_dump fits the server.
with own as (
  select oid, nspname from pg_namespace where nspname !~ '^pg_' and nspname <> 'information_schema'
)
select line from (
  select format('schema %s owner %s %s', n.nspname, pg_get_userbyid(n.nspowner), n.nspacl) as line
  from pg_namespace n join own using (oid)
  union all
  select format('relation %s.%s %s %s owner %s %s %s %s %s', o.nspname, c.relname, c.relkind, c.relpersistence, pg_get_userbyid(c.relowner), c.relacl, c.reloptions,
    c.relrowsecurity, c.relforcerowsecurity)
  from pg_class c join own o on o.oid = c.relnamespace
  union all
  select format('column %s.%s.%s %s not null %s identity %s generated %s default %s storage %s %s', o.nspname, c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
    a.attnotnull, a.attidentity, a.attgenerated, pg_get_expr(d.adbin, d.adrelid), a.attstorage, a.attacl)
  from pg_attribute a join pg_class c on c.oid = a.attrelid join own o on o.oid = c.relnamespace
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where a.attnum > 0 and not a.attisdropped
  union all
  select format('constraint %s on %s %s', k.conname, nullif(k.conrelid, 0)::regclass, pg_get_constraintdef(k.oid))
  from pg_constraint k join own o on o.oid = k.connamespace
  union all
  select format('index %s valid %s', pg_get_indexdef(i.indexrelid), i.indisvalid)
  from pg_index i join pg_class c on c.oid = i.indexrelid join own o on o.oid = c.relnamespace
  union all
  select format('trigger %s enabled %s', pg_get_triggerdef(t.oid), t.tgenabled)
  from pg_trigger t join pg_class c on c.oid = t.tgrelid join own o on o.oid = c.relnamespace
  where not t.tgisinternal
  union all
  select format('function %s owner %s %s', pg_get_functiondef(p.oid), pg_get_userbyid(p.proowner), p.proacl)
  from pg_proc p join own o on o.oid = p.pronamespace
  where p.prokind in ('f', 'p', 'w')
  union all
  select format('view %s.%s %s', o.nspname, c.relname, pg_get_viewdef(c.oid))
  from pg_class c join own o on o.oid = c.relnamespace
  where c.relkind in ('v', 'm')
  union all
  select format('policy %s on %s %s %s %s %s %s', p.polname, p.polrelid::regclass, p.polcmd, p.polpermissive, p.polroles::regrole[], pg_get_expr(p.polqual, p.polrelid),
    pg_get_expr(p.polwithcheck, p.polrelid))
  from pg_policy p
  union all
  select format('type %s.%s %s owner %s %s %s', o.nspname, t.typname, t.typtype, pg_get_userbyid(t.typowner), t.typacl,
    (select string_agg(e.enumlabel, ',' order by e.enumsortorder) from pg_enum e where e.enumtypid = t.oid))
  from pg_type t join own o on o.oid = t.typnamespace
  union all
  select format('default privileges of %s in %s for %s %s', pg_get_userbyid(defaclrole), nullif(defaclnamespace, 0)::regnamespace, defaclobjtype, defaclacl)
  from pg_default_acl
  union all
  select format('event trigger %s %s %s %s', evtname, evtevent, evtfoid::regprocedure, evtenabled) from pg_event_trigger
  union all
  select format('comment %s %s: %s', d.classoid::regclass, pg_describe_object(d.classoid, d.objoid, d.objsubid), d.description)
  from pg_description d where d.objoid >= 16384
) all_lines
order by line collate "C"
