package postgres_test

// The tables of spec 000 that the tests use.
const (
	dol       = "outreach.dol_errors"
	people    = "people.people_errors"
	masterLog = "public.shq_master_error_log"
)
