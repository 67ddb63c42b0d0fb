package policy

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Notifications says who is notified of what, and where. It names channels, which every
// node sets up for itself, and never holds their secrets.
type Notifications struct {
	Default []Route // of teams that have none of their own
	Teams   []TeamRoutes

	// Digests are the kinds that wait, to be sent together so often.
	Digests map[wire.NoticeKind]time.Duration
}

// TeamRoutes are the routes of a team.
type TeamRoutes struct {
	Team   string
	Routes []Route
}

// Route sends some notices of a team to a channel.
type Route struct {
	Channel string
	From    Urgency           // this urgent, or more
	Kinds   []wire.NoticeKind // none: all
}

// LogChannel is the channel that every node has.
const LogChannel = "log"

// Urgency is how soon somebody has to know.
type Urgency string

// The urgencies, the least first.
const (
	Info    Urgency = "INFO"    // to be read some time
	Warning Urgency = "WARNING" // to be looked at today
	Page    Urgency = "PAGE"    // to be woken for
)

func urgencies() []Urgency { return []Urgency{Info, Warning, Page} }

// AtLeast reports whether u is as urgent as floor, or more. No floor is the least.
func (u Urgency) AtLeast(floor Urgency) bool {
	return slices.Index(urgencies(), u) >= slices.Index(urgencies(), floor)
}

// UrgencyOf says how urgent a kind of notice is. An alert may be more urgent than
// its kind, because its rule pages.
func UrgencyOf(kind wire.NoticeKind) Urgency {
	switch kind {
	case wire.NoticeParked, wire.NoticeUnblocked:
		return Info
	case wire.NoticePaged, wire.NoticePageOver, wire.NoticeJobLate, wire.NoticeJobRecovered:
		return Page
	}
	return Warning
}

// beginning returns the kind whose end a kind announces, or the kind itself: whoever
// was notified that something began is notified of its end.
func beginning(kind wire.NoticeKind) wire.NoticeKind {
	switch kind {
	case wire.NoticeAlertResolved:
		return wire.NoticeAlert
	case wire.NoticeJobRecovered:
		return wire.NoticeJobLate
	case wire.NoticePageOver:
		return wire.NoticePaged
	}
	return kind
}

// Takes reports whether the route is for a notice.
func (r Route) Takes(kind wire.NoticeKind, u Urgency) bool {
	return u.AtLeast(r.From) && (len(r.Kinds) == 0 || slices.Contains(r.Kinds, kind) || slices.Contains(r.Kinds, beginning(kind)))
}

// Routes returns the routes of a team.
func (n *Notifications) Routes(team string) []Route {
	for _, t := range n.Teams {
		if t.Team == team {
			return t.Routes
		}
	}
	return n.Default
}

// Channels returns where a team is notified of something, each channel once. What no
// route takes is only logged: nothing that somebody should know is lost in silence.
func (n *Notifications) Channels(team string, kind wire.NoticeKind, u Urgency) []string {
	var channels []string
	for _, r := range n.Routes(team) {
		if r.Takes(kind, u) && !slices.Contains(channels, r.Channel) {
			channels = append(channels, r.Channel)
		}
	}
	if channels == nil {
		return []string{LogChannel}
	}
	return channels
}

// Named returns every channel that some route names, in the order of the file.
func (n *Notifications) Named() []string {
	var channels []string
	add := func(routes []Route) {
		for _, r := range routes {
			if !slices.Contains(channels, r.Channel) {
				channels = append(channels, r.Channel)
			}
		}
	}
	add(n.Default)
	for _, t := range n.Teams {
		add(t.Routes)
	}
	return channels
}

func (c *compiler) notifications() {
	f := c.file.Notices
	n := Notifications{Default: compileRoutes(f.Default), Digests: map[wire.NoticeKind]time.Duration{}}
	if len(f.Default) == 0 {
		n.Default = []Route{{Channel: LogChannel, From: Info}}
	}
	for _, team := range c.doc.keysOf("notifications", "teams") {
		n.Teams = append(n.Teams, TeamRoutes{team, compileRoutes(f.Teams[team])})
	}
	for kind, every := range f.Digests {
		n.Digests[kind] = time.Duration(every)
	}
	if f.Digests == nil {
		n.Digests[wire.NoticeParked] = 15 * time.Minute
	}
	c.out.Notifications = n
}

func compileRoutes(list []fileRoute) []Route {
	var routes []Route
	for _, f := range list {
		r := Route(f)
		if r.From == "" {
			r.From = Info
		}
		routes = append(routes, r)
	}
	return routes
}

// checkNotifications refuses routes of nobody, and routes that take nothing.
func (c *checker) checkNotifications() {
	teams := map[string]bool{}
	for _, h := range c.file.Hubs {
		teams[h.Team], teams[h.Lead] = true, true
	}
	delete(teams, "")
	c.checkRoutes(c.file.Notices.Default, []string{"notifications", "default"})
	for _, team := range c.doc.keysOf("notifications", "teams") {
		at := []string{"notifications", "teams", team}
		reference(c, "team or lead of a hub", team, teams, path(at, "name")...)
		c.checkRoutes(c.file.Notices.Teams[team], at)
	}
}

func (c *checker) checkRoutes(routes []fileRoute, at []string) {
	for i, r := range routes {
		for j, kind := range r.Kinds {
			if most := mostUrgent(kind); kind != "" && !most.AtLeast(r.From) {
				c.add(c.doc.at(path(at, itoa(i), "kinds", itoa(j))...), "%s is never as urgent as %s, expected from: %s at most", kind, r.From, most)
			}
		}
	}
}

// mostUrgent is how urgent a kind can be.
func mostUrgent(kind wire.NoticeKind) Urgency {
	if beginning(kind) == wire.NoticeAlert {
		return Page
	}
	return UrgencyOf(kind)
}
