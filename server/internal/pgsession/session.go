// Package pgsession starts PostgreSQL sessions with fixed settings, which neither a database nor a
// role can override, and checks whether the user of a session may run what is in the schema
// recoup. It reads the catalog only.
package pgsession

import (
	"maps"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Path is the search path of every session. Statements name other schemas in full. With another
// schema in the path, a function there whose arguments fit exactly would be chosen instead of one
// of pg_catalog, and would run with the rights of the session's user.
const Path = "pg_catalog, pg_temp"

// tracked are settings that PgBouncer accepts from a client. With another encoding or without
// standard strings, quoted text could end early.
var tracked = map[string]string{
	"client_encoding":             "UTF8",
	"standard_conforming_strings": "on",
	"timezone":                    "UTC",
	"datestyle":                   "ISO, MDY",
}

// required are settings that a pooler refuses when a session starts. Another role would own what
// is created and would decide what is checked; another path would choose other functions.
var required = map[string]string{
	"role":        "none",
	"search_path": Path,
}

// helpful are settings that change how statements are read or how names and values are written.
var helpful = map[string]string{
	"quote_all_identifiers":         "off",
	"transform_null_equals":         "off",
	"array_nulls":                   "on",
	"row_security":                  "on",
	"intervalstyle":                 "postgres",
	"bytea_output":                  "hex",
	"extra_float_digits":            "1",
	"default_transaction_isolation": "read committed",
	"local_preload_libraries":       "", // a library that the server lacks would make every session fail
}

// Start has the sessions of a configuration begin with fixed settings. A setting that a session
// begins with overrides those of ALTER DATABASE and ALTER ROLE, and is the one that RESET restores.
func Start(config *pgx.ConnConfig) {
	for _, settings := range []map[string]string{tracked, required, helpful} {
		maps.Copy(config.RuntimeParams, settings)
	}
}

// Share removes the settings that a pooler refuses. Each transaction must begin with [SetLocal],
// or set [Required] by other means.
func Share(config *pgx.ConnConfig) {
	for _, settings := range []map[string]string{required, helpful} {
		for name := range settings {
			delete(config.RuntimeParams, name)
		}
	}
}

// Required returns the settings without which statements must not run.
func Required() map[string]string { return maps.Clone(required) }

// SetLocal returns the statements that set [Required] for a transaction. They call no function and
// use no operator, so nothing in the path before them can run.
func SetLocal() string {
	var set []string
	for _, name := range slices.Sorted(maps.Keys(required)) {
		set = append(set, "set local "+name+" = "+required[name])
	}
	return strings.Join(set, "; ")
}
