-- The literal of spec 003 is a ULID, which a uuid column takes only through id().
select *
from error_event
where correlation_id = id('01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T')
order by ts;
