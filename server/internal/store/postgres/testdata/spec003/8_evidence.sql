-- What was attempted beside what went wrong: attempts to write, kept elsewhere,
-- stitched by the correlation id.
create temporary table evidence (correlation_id uuid, at timestamptz, attempt text);
insert into evidence values
  (id('01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T'), '2025-09-30 23:59:59+00', 'write invoice 7'),
  (id('01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T'), '2025-10-31 23:59:59+00', 'print invoice 7');
select at, what from (
  select correlation_id, at, attempt as what from evidence
  union all select correlation_id, ts, service || ': ' || code from error_event) story
where correlation_id = id('01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T')
order by at;
