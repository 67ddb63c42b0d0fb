-- +goose Up
-- +goose StatementBegin
-- Operations: recorded bulk acts. The members are frozen before anybody confirms the act,
-- the scheduler carries it out, and each member has one result.
create table operation (
  operation_id blob not null primary key check (length(operation_id) = 16),
  state        text not null check (state in ('COLLECTING', 'FROZEN', 'RUNNING', 'PAUSED', 'CANCELLED', 'DONE')),
  act          text not null,
  input        text check (input is null or json_valid(input)),
  filter       text check (filter is null or json_valid(filter)), -- what selected the members; never asked again
  hub          text, -- of all members
  members      integer not null default 0 check (members >= 0),
  applied      integer not null default 0 check (applied >= 0),
  refused      integer not null default 0 check (refused >= 0),
  created_at   integer not null,
  created_by   text not null,
  created_key  blob, -- the API key; null: none was needed
  confirmed_at integer,
  confirmed_by text,
  state_at     integer not null,
  state_by     text not null,
  state_reason text,
  ended_at     integer,
  expires_at   integer, -- until when it can be confirmed, or is kept after its end
  constraint operation_ended check ((state in ('CANCELLED', 'DONE')) = (ended_at is not null)),
  constraint operation_confirmed check ((confirmed_at is null) = (confirmed_by is null)
    and (confirmed_at is not null or state not in ('RUNNING', 'PAUSED', 'DONE'))),
  constraint operation_expires check ((expires_at is null) = (state in ('RUNNING', 'PAUSED'))),
  constraint operation_results check (applied + refused <= members and (state <> 'DONE' or applied + refused = members))
) strict, without rowid;
-- By the end of an id, which people type.
create index operation_id_end_idx on operation (substr(operation_id, 14));
create index operation_list_idx on operation (created_at, operation_id);
create index operation_state_idx on operation (state, created_at, operation_id);
create index operation_hub_idx on operation (hub, created_at, operation_id) where hub is not null;
create index operation_running_idx on operation (state_at) where state = 'RUNNING';
create index operation_unconfirmed_idx on operation (created_key) where confirmed_at is null and ended_at is null;
create index operation_expires_idx on operation (expires_at) where expires_at is not null;

create trigger operation_insert before insert on operation begin
  select case
    when exists (select 1 from operation where operation_id = new.operation_id)
      then raise(abort, 'this operation exists already')
    when new.state is not 'COLLECTING' or new.members is not 0
      then raise(abort, 'an operation begins without members')
  end;
end;
create trigger operation_update before update on operation begin
  select case
    when new.operation_id is not old.operation_id or new.act is not old.act or new.filter is not old.filter
      or new.created_at is not old.created_at or new.created_by is not old.created_by or new.created_key is not old.created_key
      then raise(abort, 'what an operation is and who asked for it is permanent')
    when old.ended_at is not null
      then raise(abort, 'this operation has ended')
    when old.state <> 'COLLECTING' and (new.state = 'COLLECTING' or new.members is not old.members or new.hub is not old.hub)
      then raise(abort, 'the members of this operation are fixed')
    when old.confirmed_at is not null and (new.confirmed_at is not old.confirmed_at or new.confirmed_by is not old.confirmed_by or new.input is not old.input)
      then raise(abort, 'this operation is confirmed')
    when new.applied < old.applied or new.refused < old.refused
      then raise(abort, 'a result is final')
  end;
end;
create trigger operation_delete before delete on operation when old.expires_at is null begin
  select raise(abort, 'this operation is under way');
end;

create table operation_item (
  operation_id blob not null,
  position     integer not null check (position >= 0),
  error_id     blob not null,
  seen_at      integer not null,
  result       text not null check (result in ('PENDING', 'APPLIED', 'REFUSED')),
  code         text,
  reason       text,
  ended_at     integer,
  primary key (operation_id, position),
  constraint operation_item_ended check ((result = 'PENDING') = (ended_at is null)),
  constraint operation_item_refused check (result = 'REFUSED' or code is null and reason is null)
) strict, without rowid;
create index operation_item_result_idx on operation_item (operation_id, result, position);

create trigger operation_item_insert before insert on operation_item begin
  select case
    when exists (select 1 from operation_item where operation_id = new.operation_id and position = new.position)
      then raise(abort, 'this member exists already')
    when not exists (select 1 from operation where operation_id = new.operation_id and state = 'COLLECTING')
      then raise(abort, 'the members of this operation are fixed')
    when new.result is 'APPLIED'
      then raise(abort, 'nothing is done before the confirmation')
  end;
end;
create trigger operation_item_update before update on operation_item begin
  select case
    when new.operation_id is not old.operation_id or new.position is not old.position or new.error_id is not old.error_id
      or new.seen_at is not old.seen_at
      then raise(abort, 'the members of an operation are fixed')
    when old.result is not 'PENDING'
      then raise(abort, 'this member has its result')
    when not exists (select 1 from operation where operation_id = new.operation_id and state = 'RUNNING')
      then raise(abort, 'the operation of this member is not running')
  end;
end;
create trigger operation_item_delete before delete on operation_item
when exists (select 1 from operation where operation_id = old.operation_id and expires_at is null) begin
  select raise(abort, 'the operation of this member is under way');
end;
-- +goose StatementEnd
