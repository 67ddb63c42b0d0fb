// Package slices lists the slices of the program.
package slices

import (
	"slices"

	"github.com/spf13/cobra"

	adoption "github.com/recoup-dev/recoup/server/internal/adoption/module"
	archive "github.com/recoup-dev/recoup/server/internal/archive/module"
	bus "github.com/recoup-dev/recoup/server/internal/bus/module"
	"github.com/recoup-dev/recoup/server/internal/cli/stream"
	"github.com/recoup-dev/recoup/server/internal/config"
	gatezero "github.com/recoup-dev/recoup/server/internal/gatezero/module"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/slice"
)

// All returns the slices, in the order in which a node opens them.
func All() []slice.Slice {
	return []slice.Slice{gatezero.Slice(), adoption.Slice(), archive.Slice(), bus.Slice()}
}

// Config is what slices add to the configuration.
func Config(of []slice.Slice) (added config.Added) {
	for i := range of {
		added.Settings = slices.Concat(added.Settings, of[i].Settings)
		if check := of[i].CheckSettings; check != nil {
			added.Checks = append(added.Checks, check)
		}
		for _, k := range of[i].Receivers {
			added.Receivers = append(added.Receivers, config.Kind{Name: k.Name, Noun: k.Noun, Fields: k.Fields})
		}
	}
	return added
}

// Routes are the routes that slices add to the API.
func Routes(of []slice.Slice) (list []httpapi.Set) {
	for i := range of {
		if len(of[i].Routes.Routes) > 0 {
			list = append(list, of[i].Routes)
		}
	}
	return list
}

// Events is the archive of events that a slice has.
func Events(of []slice.Slice) (a slice.EventArchive) {
	for i := range of {
		if of[i].Events.Open != nil {
			return of[i].Events
		}
	}
	return a
}

// Commands are those of slices.
func Commands(of []slice.Slice, streams stream.Streams) (list []*cobra.Command) {
	for i := range of {
		if of[i].Commands != nil {
			list = append(list, of[i].Commands(streams)...)
		}
	}
	return list
}
