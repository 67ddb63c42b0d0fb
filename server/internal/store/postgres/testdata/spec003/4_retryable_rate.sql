select service,
       sum( (details->>'retryable')::bool::int )::bigint as retryable,
       count(*)::bigint as total,
       round(100.0 * sum( (details->>'retryable')::bool::int ) / nullif(count(*),0), 2) as pct
from error_event
where day >= current_date - 7
group by service
order by pct desc;
