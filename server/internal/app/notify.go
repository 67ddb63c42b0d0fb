package app

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// newNotifier makes what delivers notices, with the channels of this node.
func (n *Node) newNotifier() (*notify.Dispatcher, error) {
	d, err := notify.NewDispatcher(notify.Options{
		Store: n.store, Policy: n.engine.Policies.Current, Channels: n.o.Channels, URL: n.o.URL,
		Tools:  notify.Tools{Now: n.o.Now, Logger: n.o.Logger, Source: n.o.Node},
		Random: jitter, Wait: retry.Sleep,
	})
	if err != nil {
		return nil, err
	}
	for _, c := range d.Channels() {
		if c.State == wire.ChannelMissing {
			n.o.Logger.Warn("the policy names a channel that is not configured on this node; its notifications are only logged", "channel", c.Name)
		}
	}
	if !n.o.Demo {
		for _, x := range d.Unreached() {
			n.o.Logger.Warn("alerts with this action reach only the log: configure a channel of its kind, or name one under notifications in the policy", "action", x.Action, "teams", x.Teams)
		}
	}
	return d, nil
}

// nodeChannels is what the API asks of the channels.
type nodeChannels struct {
	n   *Node
	ids *recoup.IDSource
}

// TestChannel sends a message through a channel of this node.
func (s nodeChannels) TestChannel(ctx context.Context, name, by string) (reason string, err error) {
	err = s.n.notifier.Test(ctx, name, by, s.ids.New(s.n.o.Now()))
	if failed, ok := errors.AsType[*notify.Failure](err); ok {
		return failed.Reason, nil
	}
	return "", err
}

// Channels returns how the channels of this node do.
func (s nodeChannels) Channels() []wire.Channel { return s.n.notifier.Channels() }

// noticeCollector reads how full the outbox is, and how it goes with the channels.
type noticeCollector struct{ n *Node }

var (
	descNotices    = describe("notices", "Notices in the outbox, waiting or given up; at most 100000 are counted.", "state")
	descNoticesAge = describe("notices_overdue_seconds", "How long the oldest notice that is due has been waiting.")
	descSent       = describe("notifications_total", "Notices by channel of this node and what became of them.", "channel", "outcome")
	descQueue      = describe("notifications_queued", "Notices that this node has taken and not yet sent.", "channel")
	descIsAway     = describe("channel_away", "Whether a channel has failed so often that it is left alone for now.", "channel")
	descMissing    = describe("channel_missing", "Channels that the policy names and this node does not have.", "channel")
)

// Describe sends nothing: which series there are depends on the channels.
func (c *noticeCollector) Describe(chan<- *prometheus.Desc) {}

// Collect reads everything anew.
func (c *noticeCollector) Collect(out chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if level, err := c.n.store.OutboxLevels(ctx); err == nil {
		send(descNotices, prometheus.GaugeValue, float64(level.Waiting), "waiting")
		send(descNotices, prometheus.GaugeValue, float64(level.GivenUp), "given_up")
		age := 0.0
		if !level.OldestDue.IsZero() {
			age = max(0, c.n.o.Now().Sub(level.OldestDue).Seconds())
		}
		send(descNoticesAge, prometheus.GaugeValue, age)
	}
	for _, s := range c.n.notifier.Channels() {
		if s.State == wire.ChannelMissing {
			send(descMissing, prometheus.GaugeValue, 1, s.Name)
			continue
		}
		send(descSent, prometheus.CounterValue, float64(s.Sent), s.Name, "sent")
		send(descSent, prometheus.CounterValue, float64(s.Failed), s.Name, "failed")
		send(descSent, prometheus.CounterValue, float64(s.GivenUp), s.Name, "given_up")
		send(descQueue, prometheus.GaugeValue, float64(s.Queued), s.Name)
		send(descIsAway, prometheus.GaugeValue, truth(s.State == wire.ChannelFailing && !s.Until.IsZero()), s.Name)
	}
}
