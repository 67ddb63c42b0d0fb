-- Who owns the services whose events are recent: a catalog kept elsewhere, joined
-- by the name of the service.
create temporary table service_catalog (service text primary key, team text not null);
insert into service_catalog values ('billing', 'payments'), ('search', 'discovery'), ('maps', 'discovery');
select team, count(*), count(*) filter (where (details->>'retryable')::boolean) as retryable
from error_event join service_catalog using (service)
where ts >= now() - interval '24 hours'
group by team
order by team;
