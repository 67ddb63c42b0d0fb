-- +goose Up
-- +goose StatementBegin
-- The promotion gate (spec 000, 6): no entity goes on while an error blocks it.
--
-- A transaction that blocks an entity holds the stripe of that entity shared until the
-- commit; a promotion holds it alone. Both draw their number under the lock, so the
-- numbers tell what came first; the clock cannot.
create sequence recoup.gate_seq;

-- When each error began to block its entity and when it ceased to. That it ceased to
-- because it was archived is carried by its row there until that is purged; the view
-- recoup.gate_log has all of it.
create table recoup.gate_entry (
  seq       bigint not null default nextval('recoup.gate_seq'),
  entity_id text collate "C" not null,
  error_id  uuid not null,
  blocks    boolean not null, -- it begins to block, or it ends
  at        timestamptz not null default now(),
  primary key (entity_id, seq)
);
create trigger forbidden before update or delete on recoup.gate_entry
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.gate_entry
  for each statement execute function recoup.forbid();

-- Each passage through the gate. Only promote writes here.
create table recoup.promotion (
  promotion_id uuid primary key,
  seq          bigint not null unique,
  entity_id    text collate "C" not null,
  phase        text not null,
  promoted_by  text not null,
  promoted_at  timestamptz not null
);
create index promotion_entity_idx on recoup.promotion (entity_id, seq);
create trigger forbidden before update or delete on recoup.promotion
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.promotion
  for each statement execute function recoup.forbid();

-- The stripes are empty tables that exist to be locked, and no role but the owner has
-- any privilege on them. Advisory locks would do as well, but any role that can connect
-- can take those, and so stop reports and promotions.
do $$
begin
  for s in 0..255 loop
    execute format('create table recoup.gate_stripe_%s ()', lpad(s::text, 3, '0'));
  end loop;
end $$;

-- stripe is the table that is locked for an entity.
create function recoup.stripe(entity text) returns text
language sql immutable parallel safe as $$
  select 'recoup.gate_stripe_' operator(pg_catalog.||) pg_catalog.lpad((pg_catalog.hashtext(entity) operator(pg_catalog.&) 255)::text, 3, '0')
$$;

-- lock_stripes takes the stripes of the entities shared, in order: unsorted locks would
-- wait for each other. ROW SHARE and EXCLUSIVE exclude each other, and neither disturbs
-- pg_dump, autovacuum or a standby.
create function recoup.lock_stripes(entities text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  stripes text := (select string_agg(s.stripe, ', ' order by s.stripe) from (select distinct recoup.stripe(e) as stripe from unnest(entities) e) s);
begin
  if stripes is not null then
    execute 'lock table ' || stripes || ' in row share mode';
  end if;
end $$;

-- normal_entity returns an entity as it is compared and stored: in the composed form of
-- Unicode, NFC. Most entities are ASCII and stay as they are.
create function recoup.normal_entity(entity text) returns text
language sql immutable parallel safe as $$
  select case when pg_catalog.octet_length(entity) operator(pg_catalog.=) pg_catalog.length(entity)
      or pg_catalog.getdatabaseencoding() operator(pg_catalog.<>) 'UTF8' then entity else pg_catalog.normalize(entity) end
$$;

-- odd_entity reports whether an entity looks like another one: spaces at its ends, spaces other than
-- U+0020, control characters, invisible characters, private use and noncharacters. It refuses the same
-- characters as the API, apart from those that the API's version of Unicode does not assign.
create function recoup.odd_entity(entity text) returns boolean
language sql immutable parallel safe as $$
  select entity operator(pg_catalog.~) '^ | $|[\u0001-\u001f\u007f-\u00a0\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ue000-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffd-\uffff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U0001fffe-\U0001ffff\U0002fffe-\U0002ffff\U0003fffe-\U0003ffff\U0004fffe-\U0004ffff\U0005fffe-\U0005ffff\U0006fffe-\U0006ffff\U0007fffe-\U0007ffff\U0008fffe-\U0008ffff\U0009fffe-\U0009ffff\U000afffe-\U000affff\U000bfffe-\U000bffff\U000cfffe-\U000cffff\U000dfffe-\U000dffff\U000efffe-\U000effff\U000f0000-\U0010ffff]'
$$;

-- plain_entity returns an entity of plain SQL in its normal form, and refuses an odd one and one
-- that is longer than in the API.
create function recoup.plain_entity(entity text) returns text
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
begin
  if recoup.odd_entity(entity) then
    raise exception using errcode = 'RC001', message =
      'the entity must not begin or end with a space, nor contain control characters, invisible characters, characters for private use or spaces other than U+0020; remove them';
  end if;
  entity := recoup.normal_entity(entity);
  if octet_length(entity) > 200 then
    raise exception using errcode = 'RC001', message = format('the entity may have 200 bytes, not %s', octet_length(entity));
  end if;
  return entity;
end $$;

-- is_blocked answers spec 000, 6.3 over every table at once, to whoever may ask
-- it, whether or not they may read errors.
create function recoup.is_blocked(entity text) returns boolean
language plpgsql stable strict security definer set search_path = pg_catalog, pg_temp as $$
begin
  entity := recoup.plain_entity(entity);
  return exists (select from recoup.error where entity_id = entity and blocking)
    or exists (select from recoup.unread(entity));
end $$;

-- check_stripes refuses a transaction that would hold more than 32 of the 256 stripes, in any mode, with
-- those of the entities: one open transaction of a pipeline must not stop all reports and promotions.
create function recoup.check_stripes(entities text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if (select count(*) from (select recoup.stripe(e) from unnest(entities) e
      union select 'recoup.' || c.relname from pg_locks l join pg_class c on c.oid = l.relation
      where l.pid = pg_backend_pid() and l.locktype = 'relation' and c.relnamespace = 'recoup'::regnamespace and starts_with(c.relname::text, 'gate_stripe_')) s) > 32 then
    raise exception using errcode = 'RC001', message =
      'one transaction of this role can hold 32 of 256 gates, enough for 32 entities; commit, and write the others in another transaction';
  end if;
end $$;

-- pass_gate records that an entity goes on, unless an error blocks it. No error can
-- close the gate between the check and the commit, and it is dated when the gate
-- is held: a caller's time counts only if it is that of the clock. seq and
-- promoted_at are null if it is blocked: by the errors in blockers, or by rows of the adopted
-- tables in unread, which nodes look at within a second. It is the only way to record a promotion: nodes may not write the table.
-- It is called by promote and promote_for, and no role may execute it. The locks of a pipeline are
-- not counted in a transaction without a number, which has written nothing and promoted nothing.
create function recoup.pass_gate(entity text, phase text, actor text, at timestamptz, id uuid, limited boolean,
  out seq bigint, out blockers uuid[], out promoted_at timestamptz, out unread text[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if coalesce(btrim(entity), '') = '' or coalesce(btrim(phase), '') = '' or actor is null then
    raise exception using errcode = 'RC001', message = 'promote needs an entity, a phase and an actor';
  end if;
  entity := recoup.normal_entity(entity);
  if octet_length(entity) > 200 or octet_length(phase) > 200 or octet_length(actor) > 200 then
    raise exception using errcode = 'RC001', message = format('entity, phase and actor of a promotion may have 200 bytes each, not %s, %s and %s',
      octet_length(entity), octet_length(phase), octet_length(actor));
  end if;
  if recoup.odd_entity(phase) then
    raise exception using errcode = 'RC001', message =
      'the phase must not begin or end with a space, nor contain control characters, invisible characters, characters for private use or spaces other than U+0020; remove them';
  end if;
  if id = '00000000-0000-0000-0000-000000000000' then
    raise exception using errcode = 'RC001', message = 'the id of a promotion must not be all zeros: leave it out, or use a random UUID';
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = 'RC001', message = 'promote needs READ COMMITTED: an older snapshot could not see what blocks';
  end if;
  if limited and pg_current_xact_id_if_assigned() is not null then
    perform recoup.check_stripes(array[entity]);
  end if;
  execute 'lock table ' || recoup.stripe(entity) || ' in exclusive mode';
  blockers := array(select error_id from recoup.error where entity_id = entity and blocking order by created_at, error_id limit 100);
  unread := array(select u.table_name from recoup.unread(entity) u);
  if cardinality(blockers) + cardinality(unread) > 0 then
    if limited then
      perform pg_current_xact_id(); -- it holds a stripe
    end if;
    return;
  end if;
  seq := nextval('recoup.gate_seq');
  promoted_at := case when recoup.timely(at) then at else recoup.clock() end;
  insert into recoup.promotion values (id, seq, entity, phase, actor, promoted_at);
end $$;

-- promote_for promotes for another actor, and holds any number of gates. Only nodes may execute it.
-- PostgreSQL checks that against the role that calls, also where a session runs another role's code.
create function recoup.promote_for(entity text, phase text, actor text, at timestamptz default null, id uuid default gen_random_uuid(),
  out seq bigint, out blockers uuid[], out promoted_at timestamptz, out unread text[])
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  select p.* into seq, blockers, promoted_at, unread from recoup.pass_gate(entity, phase, actor, at, id, false) p;
end $$;

-- What pipelines promote passes through this view, because its triggers can tell which role asks: a
-- function that runs as the owner cannot. The first runs as that role and notes it, the second
-- as the owner and promotes.
create view recoup.promoting as
  select null::text as entity, null::text as phase, null::text as actor, null::timestamptz as at, null::uuid as id,
    null::bigint as seq, null::uuid[] as blockers, null::timestamptz as promoted_at, null::text[] as unread where false;

-- promoting_by notes who promotes: the role of the session, also after SET ROLE, or the role whose
-- code the session runs, with the role of the session.
create function recoup.promoting_by() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  new.actor := case when current_user in (session_user, current_setting('role')) then session_user
    else current_user || ' (session of ' || session_user || ')' end;
  return new;
end $$;
create trigger a_by instead of insert on recoup.promoting
  for each row execute function recoup.promoting_by();

create function recoup.promoting_passed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_relid <> 'recoup.promoting'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  select p.* into new.seq, new.blockers, new.promoted_at, new.unread
    from recoup.pass_gate(recoup.plain_entity(new.entity), new.phase, new.actor, new.at, coalesce(new.id, gen_random_uuid()), true) p;
  return new;
end $$;
create trigger b_passed instead of insert on recoup.promoting
  for each row execute function recoup.promoting_passed();

-- promote is pass_gate for pipelines. They promote in their own name, whatever actor says.
create function recoup.promote(entity text, phase text, actor text default current_user,
  at timestamptz default null, id uuid default gen_random_uuid(),
  out seq bigint, out blockers uuid[], out promoted_at timestamptz, out unread text[])
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if actor is null then
    raise exception using errcode = 'RC001', message = 'promote needs an entity, a phase and an actor';
  end if;
  insert into recoup.promoting as p (entity, phase, at, id) values (promote.entity, promote.phase, promote.at, promote.id)
    returning p.seq, p.blockers, p.promoted_at, p.unread into seq, blockers, promoted_at, unread;
end $$;
-- +goose StatementEnd
