package app

// asStandby leaves out of the options what would change the copy of a database that a
// standby serves. Slices do the same with their settings.
func (o Options) asStandby() Options {
	if o.Policy != "" {
		o.Logger.Warn("a standby ignores --policy; the policy in the database is in force", "file", o.Policy)
	}
	o.Logger.Warn("this node is a standby: it answers reads, refuses changes, runs no jobs and sends nothing")
	o.Policy = ""
	return o
}

// standbyLoops are the loops that a standby runs: those that only read, so that it follows
// the policy, the keys and the clock of its database.
func standbyLoops() []string {
	return []string{"database", "refresh", "refusals", "clock", "locks"}
}
