package api

import "github.com/recoup-dev/recoup/fault"

// StandbyHeader is in every answer of a standby.
const StandbyHeader = "Recoup-Standby"

// standbyWarning is what a standby says of itself.
const standbyWarning = "this node is a standby: it answers reads, refuses changes, runs no jobs and sends nothing"

// refuseOnStandby refuses on a standby what would change something. Who sent it would get the
// same answer again, so it is no fault that passes.
func (a *API) refuseOnStandby(rt *route) error {
	if !a.Standby || !rt.writes() || rt.pure {
		return nil
	}
	return fault.New(fault.CodeInsufficientPermissions,
		"This node is a standby (--standby), which answers reads only; nothing was changed. Send this to a node of the production database, or start this one without --standby.").
		With("standby", true)
}
