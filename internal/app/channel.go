package app

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"recoup/internal/notify"
)

// channelsSetting is the section of the configuration file that sets channels up:
//
//	channels:
//	  chat: {kind: slack, url: https://hooks.slack.com/…}
//
// Each field can be given, or replaced, by an environment variable:
// RECOUP_CHANNEL_CHAT_URL. Channels that only the environment sets up are named
// in RECOUP_CHANNELS, with commas between them.
const (
	channelsSetting = "channels"
	channelsEnv     = "RECOUP_CHANNELS"
	channelEnv      = "RECOUP_CHANNEL_"
)

// readURL reads where people find this node, for links.
func readURL(o *Options, s string) error {
	u, err := url.Parse(s)
	if err != nil || s != "" && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "") {
		return errors.New("must be an address such as https://recoup.example.com")
	}
	o.URL = strings.TrimRight(s, "/")
	return nil
}

// readChannels gathers the channels from the file's section and the environment.
func readChannels(section any, env func(string) (string, bool), file string) (list []notify.Config, shown []Value, bad []error) {
	given, bad := channelSection(section, file)
	if names, ok := env(channelsEnv); ok {
		for name := range strings.SplitSeq(names, ",") {
			if name = strings.TrimSpace(name); name != "" && given[name] == nil {
				given[name] = map[string]string{}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		c := notify.Config{Name: name, Values: given[name]}
		sources := map[string]string{}
		for _, field := range channelFields() {
			variable := channelEnv + envName(name) + "_" + envName(field)
			if value, ok := env(variable); ok {
				c.Values[field], sources[field] = value, variable
			}
		}
		c.Kind = notify.Kind(c.Values["kind"])
		shown = append(shown, channelValues(c, sources, file)...)
		delete(c.Values, "kind")
		if err := c.Check(); err != nil {
			bad = append(bad, err)
		}
		list = append(list, c)
	}
	return list, shown, bad
}

func envName(s string) string { return strings.ToUpper(strings.ReplaceAll(s, "-", "_")) }

// channelFields lists every field that some kind of channel has.
func channelFields() []string {
	fields := []string{"kind"}
	for _, kind := range notify.Kinds() {
		for _, f := range notify.Fields(kind) {
			if !slices.Contains(fields, f.Name) {
				fields = append(fields, f.Name)
			}
		}
	}
	return fields
}

// channelSection reads the file's section: names, and for each fields and values.
func channelSection(section any, file string) (given map[string]map[string]string, bad []error) {
	given = map[string]map[string]string{}
	if section == nil {
		return given, nil
	}
	channels, ok := section.(map[string]any)
	if !ok {
		return given, []error{fmt.Errorf("%s: channels must be of the form NAME: {kind: KIND, …}", file)}
	}
	for name, value := range channels {
		fields, ok := value.(map[string]any)
		if !ok {
			bad = append(bad, fmt.Errorf("%s: channel %.70q must be of the form {kind: KIND, …}", file, name))
			continue
		}
		given[name] = map[string]string{}
		for field, v := range fields {
			given[name][strings.ReplaceAll(field, "_", "-")] = fieldValue(v)
		}
	}
	return given, bad
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

// channelValues returns what may be shown of a channel: all but its secrets. What
// no kind of channel has may be anything, so it is not shown either.
func channelValues(c notify.Config, sources map[string]string, file string) []Value {
	var shown []Value
	for _, field := range slices.Sorted(maps.Keys(c.Values)) {
		v := Value{Name: channelsSetting + "." + c.Name + "." + field, Value: c.Values[field], Source: file, secret: field != "kind"}
		if from, ok := sources[field]; ok {
			v.Source = from
		}
		for _, f := range notify.Fields(c.Kind) {
			if f.Name == field {
				v.secret = f.Secret
			}
		}
		shown = append(shown, v)
	}
	return shown
}
