-- +goose Up
-- What the archive holds together, whoever writes it.
alter table recoup.error_archive
  add constraint error_archive_replaceable check (not replaceable),
  add constraint error_archive_final check (final_disposition = disposition),
  add constraint error_archive_superseded check ((archive_reason = 'SUPERSEDED') = (superseded_by is not null)),
  add constraint error_archive_resolved check ((archive_reason = 'RESOLVED') = (disposition = 'RESOLVED'));
