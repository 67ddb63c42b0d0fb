package wire

import (
	"time"
)

// The states of a channel.
const (
	ChannelUp       = "up"
	ChannelRetrying = "retrying" // the last messages failed, too few of them to leave it alone
	ChannelFailing  = "failing"  // three messages in a row or more
	ChannelMissing  = "missing"  // the policy names it, and the node does not have it
)

// Channel is the state of a notification channel of a node. Counts and times are those
// of this node since it started. The address and its secrets are not included, and the
// reason of a failure never repeats them.
type Channel struct {
	Name          string    `json:"name" doc:"what the configuration and the policy call it"`
	Kind          string    `json:"kind,omitempty" enum:"slack,pagerduty,webhook,email,log" doc:"how it reaches people"`
	State         string    `json:"state" enum:"up,retrying,failing,missing" doc:"failing: three messages in a row or more were not accepted; missing: the policy names it, and this node does not have it, so that its notifications are only logged"`
	FailingSince  time.Time `json:"failing_since,omitzero" doc:"when the first of the messages failed that were not accepted since"`
	Failures      int       `json:"failures,omitempty" doc:"in a row"`
	Until         time.Time `json:"until,omitzero" doc:"it is left alone until then"`
	LastSuccessAt time.Time `json:"last_success_at,omitzero" doc:"when it last accepted a message"`
	LastFailureAt time.Time `json:"last_failure_at,omitzero" doc:"when it last did not; also when that is over"`
	LastFailure   string    `json:"last_failure,omitempty" doc:"why"`
	Undelivered   int       `json:"undelivered" doc:"notifications that failed and wait to be tried again; at most 100000 are counted"`
	Queued        int       `json:"queued" doc:"notifications that are about to be sent"`
	Sent          int64     `json:"sent" doc:"notifications that it accepted"`
	Failed        int64     `json:"failed" doc:"attempts that it did not"`
	GivenUp       int64     `json:"given_up" doc:"notifications that it refused for good, or failed to take for a day"`
}

// Down reports whether the channel needs somebody who looks at it.
func (c *Channel) Down() bool { return c.State == ChannelFailing || c.State == ChannelMissing }

// Channels are the notification channels of a node.
type Channels struct {
	Node     string    `json:"node" doc:"the node that tells it: each has its own view"`
	Channels []Channel `json:"channels" doc:"all of them, and those that the policy names and the node does not have"`
}

// ChannelTest is the result of a test message to a channel.
type ChannelTest struct {
	Channel  string `json:"channel" doc:"the channel"`
	Accepted bool   `json:"accepted" doc:"whether the message was accepted"`
	Reason   string `json:"reason,omitempty" doc:"why it was not"`
}
