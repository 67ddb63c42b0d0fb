package postgres

// PlannedPlain returns the check of the version tables.
func PlannedPlain() Planned {
	return Planned{Name: "plain tables", SQL: selectUnplain, Args: []any{versionTables}}
}
