package sqlite_test

// A table of spec 000 that the tests use.
const dol = "outreach.dol_errors"
