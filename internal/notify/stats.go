package notify

import "slices"

// ChannelStats counts what became of notices in one channel of this node since it
// started.
type ChannelStats struct {
	Channel string
	Sent    int64 // accepted
	Failed  int64 // tries that failed
	GivenUp int64
	Waiting int  // taken and not yet sent
	Away    bool // it has failed so often that it is left alone for now
}

// Stats is how it goes with all channels.
type Stats struct {
	Channels []ChannelStats // by name
	Missing  []string       // that the policy names and this node does not have
}

// Stats returns the counts.
func (d *Dispatcher) Stats() Stats {
	var s Stats
	now := d.o.Tools.Now()
	for _, name := range d.Channels() {
		s.Channels = append(s.Channels, d.lanes[name].stats(now))
	}
	for _, name := range d.o.Policy().Notifications.Named() {
		if d.lanes[name] == nil {
			s.Missing = append(s.Missing, name)
		}
	}
	slices.Sort(s.Missing)
	return s
}
