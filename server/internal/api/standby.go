package api

import "github.com/recoup-dev/recoup/fault"

// StandbyHeader is in every answer of a standby.
const StandbyHeader = "Recoup-Standby"

// refuseOnStandby refuses on a standby what would change something. Who sent it would get the
// same answer again, so it is no fault that passes.
func (s *server) refuseOnStandby(rt *route) error {
	if !s.Standby || !rt.writes() || rt.pure {
		return nil
	}
	return fault.New(fault.CodeInsufficientPermissions,
		"This node is a standby (--standby), which answers reads only; nothing was changed. Send this to a node of the production database, or start this one without --standby.").
		With("standby", true)
}
