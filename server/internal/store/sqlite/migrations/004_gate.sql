-- +goose Up
-- +goose StatementBegin
-- The promotion gate (spec 000, 6): no entity goes on while an error blocks it. One
-- writer at a time draws the numbers, so they tell what came first.

-- When each error began to block its entity and when it ceased to. That it ceased to
-- because it was archived is carried by its row there until that is purged; gate_log
-- has all of it.
create table gate_entry (
  entity_id text not null,
  seq       integer not null check (seq > 0),
  error_id  blob not null check (length(error_id) = 16),
  blocks    integer not null check (blocks in (0, 1)), -- it begins to block, or it ends
  at        integer not null,
  primary key (entity_id, seq)
) strict, without rowid;

create trigger gate_entry_insert before insert on gate_entry
when exists (select 1 from gate_entry where entity_id = new.entity_id and seq = new.seq) begin
  select raise(abort, 'the gate''s log is never rewritten');
end;
create trigger gate_entry_update before update on gate_entry begin
  select raise(abort, 'the gate''s log is never rewritten');
end;
create trigger gate_entry_delete before delete on gate_entry begin
  select raise(abort, 'the gate''s log is never rewritten');
end;

create view gate_log as
  select entity_id, seq, error_id, blocks, at from gate_entry
  union all select entity_id, end_gate, error_id, blocking, archived_at from error_archive where end_gate is not null;

-- The last number that was drawn, for the gate's log or for a promotion.
create table gate_number (
  one integer primary key check (one = 1),
  seq integer not null
) strict;
insert into gate_number values (1, 0);

-- The next number.
create view gate_next as select seq + 1 as seq from gate_number;

create trigger gate_number_update before update on gate_number when new.one <> 1 or new.seq <= old.seq begin
  select raise(abort, 'the gate''s numbers only grow');
end;
create trigger gate_number_insert before insert on gate_number begin
  select raise(abort, 'the gate''s numbers only grow');
end;
create trigger gate_number_delete before delete on gate_number begin
  select raise(abort, 'the gate''s numbers only grow');
end;

-- Each passage through the gate.
create table promotion (
  seq          integer primary key check (seq > 0),
  promotion_id blob not null unique check (length(promotion_id) = 16),
  entity_id    text not null,
  phase        text not null,
  promoted_by  text not null,
  promoted_at  integer not null
) strict;
create index promotion_entity_idx on promotion (entity_id, seq);

create trigger promotion_insert before insert on promotion begin
  select case
    when exists (select 1 from promotion where seq = new.seq)
      or exists (select 1 from promotion where promotion_id = new.promotion_id)
      then raise(abort, 'this promotion is recorded already')
    when exists (select 1 from error where entity_id = new.entity_id and blocking)
      then raise(abort, 'an error blocks this entity')
    when max(length(cast(new.entity_id as blob)), length(cast(new.phase as blob)), length(cast(new.promoted_by as blob))) > 200
      then raise(abort, 'entity, phase and actor of a promotion may have 200 bytes each')
  end;
end;
create trigger promotion_numbered after insert on promotion begin
  update gate_number set seq = new.seq where seq < new.seq;
end;
create trigger promotion_update before update on promotion begin
  select raise(abort, 'a promotion is permanent');
end;
create trigger promotion_delete before delete on promotion begin
  select raise(abort, 'a promotion is permanent');
end;
-- +goose StatementEnd
