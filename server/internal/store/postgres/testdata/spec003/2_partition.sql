create table if not exists error_event_y2025m10 partition of error_event
for values from ('2025-10-01') to ('2025-11-01');
