-- Whether days on which data was stale are days with many errors: incidents kept
-- elsewhere, joined by service and day with the counts per day.
do $$ begin perform fold_rollups(1000); end $$;
create temporary table freshness_incident (service text, day date, dataset text);
insert into freshness_incident values
  ('billing', '2025-10-01', 'invoices'), ('mail', '2025-10-31', 'outbox'), ('mail', '2025-10-30', 'outbox');
select i.service, i.day, i.dataset, coalesce(sum(a.count), 0) as errors
from freshness_incident i left join error_aggregate_daily a using (service, day)
group by 1, 2, 3
order by 1, 2;
