package app

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/push"
)

// section is a part of the configuration file that sets things up by their names:
//
//	channels:
//	  chat: {kind: slack, url: https://hooks.slack.com/…}
//
// Each field can be given, or replaced, by an environment variable:
// RECOUP_CHANNEL_CHAT_URL. What only the environment sets up is named in
// RECOUP_CHANNELS, with commas between the names.
type section struct {
	setting string // in the file
	thing   string // one of them
	fields  func(kind string) []notify.Field
	kinds   []string
}

func channelSection() section {
	s := section{setting: "channels", thing: "channel", fields: func(kind string) []notify.Field { return notify.Fields(notify.Kind(kind)) }}
	for _, k := range notify.Kinds() {
		s.kinds = append(s.kinds, string(k))
	}
	return s
}

func receiverSection(kinds []push.Kind) section {
	fields := map[string][]notify.Field{}
	for _, k := range kinds {
		fields[k.Name] = k.AllFields()
	}
	return section{
		setting: "receivers", thing: "receiver", kinds: push.Names(kinds),
		fields: func(kind string) []notify.Field { return fields[kind] },
	}
}

// item is something that a section sets up.
type item struct {
	name, kind string
	values     map[string]string // by field
}

// readURL reads where people find this node, for links.
func readURL(o *Options, s string) error {
	u, err := url.Parse(s)
	if err != nil || s != "" && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		return errors.New("must be an address such as https://recoup.example.com")
	}
	o.URL = strings.TrimRight(s, "/")
	return nil
}

// readChannels gathers the channels.
func readChannels(given any, env func(string) (string, bool), file string) (list []notify.Config, shown []config.Value, bad []error) {
	items, shown, bad := channelSection().read(given, env, file)
	for _, i := range items {
		c := notify.Config{Name: i.name, Kind: notify.Kind(i.kind), Values: i.values}
		if err := c.Check(); err != nil {
			bad = append(bad, err)
		}
		list = append(list, c)
	}
	return list, shown, bad
}

// readReceivers gathers the receivers.
func readReceivers(given any, env func(string) (string, bool), file string, kinds []push.Kind) (list []push.Config, shown []config.Value, bad []error) {
	items, shown, bad := receiverSection(kinds).read(given, env, file)
	for _, i := range items {
		c := push.Config{Name: i.name, Kind: i.kind, Values: i.values}
		if err := c.Check(kinds); err != nil {
			bad = append(bad, err)
		}
		list = append(list, c)
	}
	return list, shown, bad
}

// read gathers what the file's section and the environment set up.
func (s section) read(given any, env func(string) (string, bool), file string) (list []item, shown []config.Value, bad []error) {
	found, bad := s.parse(given, file)
	if names, ok := env("RECOUP_" + envName(s.setting)); ok {
		for name := range strings.SplitSeq(names, ",") {
			if name = strings.TrimSpace(name); name != "" && found[name] == nil {
				found[name] = map[string]string{}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		i := item{name: name, values: found[name]}
		sources := map[string]string{}
		for _, field := range s.allFields() {
			variable := "RECOUP_" + envName(s.thing) + "_" + envName(name) + "_" + envName(field)
			if value, ok := env(variable); ok {
				i.values[field], sources[field] = value, variable
			}
		}
		i.kind = i.values["kind"]
		shown = append(shown, s.show(i, sources, file)...)
		delete(i.values, "kind")
		list = append(list, i)
	}
	return list, shown, bad
}

func envName(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "-", "_")) }

// allFields lists every field that some kind has.
func (s section) allFields() []string {
	fields := []string{"kind"}
	for _, kind := range s.kinds {
		for _, f := range s.fields(kind) {
			if !slices.Contains(fields, f.Name) {
				fields = append(fields, f.Name)
			}
		}
	}
	return fields
}

// parse reads the file's section: names, and for each fields and values.
func (s section) parse(given any, file string) (found map[string]map[string]string, bad []error) {
	found = map[string]map[string]string{}
	if given == nil {
		return found, nil
	}
	things, ok := given.(map[string]any)
	if !ok {
		return found, []error{fmt.Errorf("%s: %s must be of the form NAME: {kind: KIND, …}", file, s.setting)}
	}
	for name, value := range things {
		fields, ok := value.(map[string]any)
		if !ok {
			bad = append(bad, fmt.Errorf("%s: %s %.70q must be of the form {kind: KIND, …}", file, s.thing, name))
			continue
		}
		found[name] = map[string]string{}
		for field, v := range fields {
			found[name][strings.ReplaceAll(field, "_", "-")] = fieldValue(v)
		}
	}
	return found, bad
}

// fieldValue writes a value; a list is one with commas.
func fieldValue(v any) string {
	list, ok := v.([]any)
	if !ok {
		return fmt.Sprint(v)
	}
	parts := make([]string, len(list))
	for i := range list {
		parts[i] = fmt.Sprint(list[i])
	}
	return strings.Join(parts, ", ")
}

// show returns what may be shown of something: all but its secrets. What no kind of it
// has may be anything, so it is not shown either.
func (s section) show(i item, sources map[string]string, file string) []config.Value {
	var shown []config.Value
	for _, field := range slices.Sorted(maps.Keys(i.values)) {
		v := config.Value{Name: s.setting + "." + i.name + "." + field, Value: i.values[field], Source: file, Hidden: field != "kind"}
		if from, ok := sources[field]; ok {
			v.Source = from
		}
		for _, f := range s.fields(i.kind) {
			if f.Name == field {
				v.Hidden = f.Secret
			}
		}
		shown = append(shown, v)
	}
	return shown
}
