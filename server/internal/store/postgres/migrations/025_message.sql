-- +goose Up
-- +goose StatementBegin
-- What is sent in one message stays one message: which notifications it has, and what it
-- says, is written before it is sent. One of them stands for it: its id is the message's,
-- it has the text, and the others are claimed, put off and ended with it.
alter table recoup.outbox
  add column message_id uuid, -- null: in none yet
  add column message json,    -- of the one that stands for it
  add constraint outbox_message check ((message is null) = (message_id is distinct from notice_id));
create index outbox_message_idx on recoup.outbox (message_id) where due_at is not null and message_id is not null;

-- outbox_guard keeps a notification what it is, its attempts counted, and in its message.
create or replace function recoup.outbox_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  bad text;
begin
  if tg_op = 'DELETE' then
    if old.due_at is not null then
      raise exception using errcode = 'RC001', message = 'a notice that waits is not deleted';
    end if;
    return old;
  end if;
  bad := case
    when old.due_at is null then 'this notice is delivered or given up'
    when (new.notice_id, new.kind, new.recipient, new.error_id, new.created_at, new.dedup_key, new.resend_of, new.body::text)
      is distinct from (old.notice_id, old.kind, old.recipient, old.error_id, old.created_at, old.dedup_key, old.resend_of, old.body::text)
      then 'what a notice says is permanent'
    when old.message_id is not null and (new.message_id, new.message::text) is distinct from (old.message_id, old.message::text)
      and (new.message_id is not null or exists (select from recoup.outbox h where h.notice_id = old.message_id and h.due_at is not null))
      then 'what a message says, and of what, is permanent'
    when new.attempts not in (old.attempts, old.attempts + 1) then 'attempts are counted one by one'
  end;
  if bad is not null then
    raise exception using errcode = 'RC001', message = bad;
  end if;
  return new;
end $$;

-- outbox_leave takes notifications out of a message that a node of the version before has
-- ended by the one that stands for it alone: nobody would claim them any more. They are sent
-- again by themselves, because nobody knows whether they were.
create function recoup.outbox_leave() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  update recoup.outbox set message_id = null
  where due_at is not null and message_id is not null and message_id = new.notice_id and notice_id <> message_id;
  return null;
end $$;
create trigger outbox_leave after update of due_at on recoup.outbox for each row
  when (old.due_at is not null and new.due_at is null and new.message_id = new.notice_id) execute function recoup.outbox_leave();

-- Nodes of the version before go on: they send as they did.
insert into recoup.schema_needs values (25, 24);
-- +goose StatementEnd
