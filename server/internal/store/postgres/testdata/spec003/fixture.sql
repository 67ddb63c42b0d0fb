-- What the queries of spec 003 are asked about, written by plain SQL.
insert into error_event (event_id, code, correlation_id, service, details, ts)
select gen_random_uuid(), code, gen_random_uuid(), service, details, now() - age from (values
  ('NETWORK_TIMEOUT', 'billing', '{"retryable": true}'::jsonb, interval '1 minute'),
  ('NETWORK_TIMEOUT', 'billing', '{"retryable": true}', interval '1 hour'),
  ('NETWORK_TIMEOUT', 'search', '{"retryable": true}', interval '23 hours'),
  ('VALIDATION_ERROR', 'billing', '{"retryable": false, "field": "amount"}', interval '2 hours'),
  ('VALIDATION_ERROR', 'search', '{"retryable": false}', interval '3 hours'),
  ('STALE_READ', 'billing', '{"retryable": true}', interval '23 hours 59 minutes'),
  ('STALE_READ', 'search', null, interval '25 hours'),
  ('NETWORK_TIMEOUT', 'mail', '{"retryable": true}', interval '8 days 1 second')
) v (code, service, details, age);

insert into error_event (event_id, code, correlation_id, service, endpoint, http_status, tenant_hash, details, region, ts,
  external_service, reported_code, tenant_key) values
('00000000-0000-7000-8000-000000000001', 'NETWORK_TIMEOUT', id('01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T'), 'billing', 'POST /v1/invoices', 503,
  '9f86d081', '{"retryable": true, "limit": 10}', 'eu-west-1', '2025-10-01 02:00:00+02', 'stripe', null, '2025-10'),
('00000000-0000-7000-8000-000000000002', 'UNREGISTERED_CODE', id('01JAH8ZJ0Z8Z0N7M1X6JZ8QW0T'), 'mail', null, null,
  null, null, null, '2025-10-31 23:59:59.999999+00', null, 'OUT_OF_PAPER', null);
