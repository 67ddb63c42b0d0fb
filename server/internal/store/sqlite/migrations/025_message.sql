-- +goose Up
-- +goose StatementBegin
-- What is sent in one message stays one message: which notifications it has, and what it
-- says, is written before it is sent. One of them stands for it: its id is the message's,
-- it has the text, and the others are claimed, put off and ended with it.
alter table outbox add column message_id blob check (length(message_id) = 16); -- null: in none yet
alter table outbox add column message text
  check (message is null or json_valid(message)) check ((message is null) = (message_id is not notice_id)); -- of the one that stands for it
create index outbox_message_idx on outbox (message_id) where due_at is not null and message_id is not null;

-- A notification stays what it is, its attempts are counted, and it stays in its message.
drop trigger outbox_update;
create trigger outbox_update before update on outbox begin
  select case
    when old.due_at is null
      then raise(abort, 'this notice is delivered or given up')
    when new.notice_id is not old.notice_id or new.rowid is not old.rowid or new.kind is not old.kind
      or new.recipient is not old.recipient or new.error_id is not old.error_id or new.created_at is not old.created_at
      or new.dedup_key is not old.dedup_key or new.body is not old.body or new.resend_of is not old.resend_of
      then raise(abort, 'what a notice says is permanent')
    when old.message_id is not null and (new.message_id is not old.message_id or new.message is not old.message)
      then raise(abort, 'what a message says, and of what, is permanent')
    when new.attempts not in (old.attempts, old.attempts + 1)
      then raise(abort, 'attempts are counted one by one')
  end;
end;
-- +goose StatementEnd
