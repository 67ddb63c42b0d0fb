select code, count(*) as c
from error_event
where ts > now() - interval '24 hours'
group by code
order by c desc;
