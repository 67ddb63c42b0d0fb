-- +goose Up
-- +goose StatementBegin
-- Operations: recorded bulk acts. The members are frozen before anybody confirms the act,
-- the scheduler carries it out, and each member has one result.
create table recoup.operation (
  operation_id uuid primary key,
  state        text collate "C" not null check (state in ('COLLECTING', 'FROZEN', 'RUNNING', 'PAUSED', 'CANCELLED', 'DONE')),
  act          text not null,
  input        jsonb,
  filter       json, -- what selected the members; never asked again
  hub          text collate "C", -- of all members
  members      int not null default 0 check (members >= 0),
  applied      int not null default 0 check (applied >= 0),
  refused      int not null default 0 check (refused >= 0),
  created_at   timestamptz not null,
  created_by   text not null,
  created_key  uuid, -- the API key; null: none was needed
  confirmed_at timestamptz,
  confirmed_by text,
  state_at     timestamptz not null,
  state_by     text not null,
  state_reason text,
  ended_at     timestamptz,
  expires_at   timestamptz, -- until when it can be confirmed, or is kept after its end
  constraint operation_ended check ((state in ('CANCELLED', 'DONE')) = (ended_at is not null)),
  constraint operation_confirmed check ((confirmed_at is null) = (confirmed_by is null)
    and (confirmed_at is not null or state not in ('RUNNING', 'PAUSED', 'DONE'))),
  constraint operation_expires check ((expires_at is null) = (state in ('RUNNING', 'PAUSED'))),
  constraint operation_results check (applied + refused <= members and (state <> 'DONE' or applied + refused = members))
) with (fillfactor = 50);
-- By the end of an id, which people type.
create index operation_id_end_idx on recoup.operation (substr(uuid_send(operation_id), 14));
create index operation_list_idx on recoup.operation (created_at, operation_id);
create index operation_state_idx on recoup.operation (state, created_at, operation_id);
create index operation_hub_idx on recoup.operation (hub, created_at, operation_id) where hub is not null;
create index operation_running_idx on recoup.operation (state_at) where state = 'RUNNING';
create index operation_unconfirmed_idx on recoup.operation (created_key) where confirmed_at is null and ended_at is null;
create index operation_expires_idx on recoup.operation (expires_at) where expires_at is not null;

-- guard_operation fixes what an operation is, its members once they are collected, and its
-- results.
create function recoup.guard_operation() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    perform recoup.refuse(case when new.state <> 'COLLECTING' or new.members <> 0 then 'an operation begins without members' end);
    return new;
  end if;
  if tg_op = 'DELETE' then
    perform recoup.refuse(case when old.expires_at is null then 'operation ' || old.operation_id || ': it is under way' end);
    return old;
  end if;
  perform recoup.refuse('operation ' || old.operation_id || ': ' || case
    when row(new.operation_id, new.act, new.filter::text, new.created_at, new.created_by, new.created_key)
      is distinct from row(old.operation_id, old.act, old.filter::text, old.created_at, old.created_by, old.created_key)
      then 'what it is and who asked for it is permanent'
    when old.ended_at is not null then 'it has ended'
    when old.state <> 'COLLECTING' and (new.state = 'COLLECTING' or new.members <> old.members or new.hub is distinct from old.hub)
      then 'its members are fixed'
    when old.confirmed_at is not null and row(new.confirmed_at, new.confirmed_by, new.input) is distinct from row(old.confirmed_at, old.confirmed_by, old.input)
      then 'it is confirmed'
    when new.applied < old.applied or new.refused < old.refused then 'a result is final' end);
  return new;
end $$;
create trigger guard before insert or update or delete on recoup.operation
  for each row execute function recoup.guard_operation();
create trigger forbidden_truncate before truncate on recoup.operation for each statement execute function recoup.forbid();

create table recoup.operation_item (
  operation_id uuid not null,
  position     int not null check (position >= 0),
  error_id     uuid not null,
  seen_at      timestamptz not null,
  result       text collate "C" not null check (result in ('PENDING', 'APPLIED', 'REFUSED')),
  code         text,
  reason       text,
  ended_at     timestamptz,
  primary key (operation_id, position),
  constraint operation_item_ended check ((result = 'PENDING') = (ended_at is null)),
  constraint operation_item_refused check (result = 'REFUSED' or code is null and reason is null)
) with (fillfactor = 70);
create index operation_item_result_idx on recoup.operation_item (operation_id, result, position);

-- guard_operation_item fixes the members, and gives each one result.
create function recoup.guard_operation_item() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  state text;
  due   timestamptz;
begin
  if tg_relid <> 'recoup.operation_item'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  select o.state, o.expires_at into state, due from recoup.operation o
    where o.operation_id = case tg_op when 'INSERT' then new.operation_id else old.operation_id end;
  if tg_op = 'DELETE' then
    perform recoup.refuse(case when state is not null and due is null then 'member ' || old.error_id || ': its operation is under way' end);
    return old;
  end if;
  perform recoup.refuse('member ' || new.error_id || ': ' || case
    when tg_op = 'INSERT' and state is distinct from 'COLLECTING' then 'the members of its operation are fixed'
    when tg_op = 'INSERT' and new.result = 'APPLIED' then 'nothing is done before the confirmation' end);
  if tg_op = 'UPDATE' then
    perform recoup.refuse('member ' || old.error_id || ': ' || case
      when row(new.operation_id, new.position, new.error_id, new.seen_at) is distinct from row(old.operation_id, old.position, old.error_id, old.seen_at)
        then 'the members of an operation are fixed'
      when old.result <> 'PENDING' then 'it has its result'
      when state is distinct from 'RUNNING' then 'its operation is not running' end);
  end if;
  return new;
end $$;
create trigger guard before insert or update or delete on recoup.operation_item
  for each row execute function recoup.guard_operation_item();
create trigger forbidden_truncate before truncate on recoup.operation_item for each statement execute function recoup.forbid();
-- +goose StatementEnd
