package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/config"
)

// file writes a configuration file.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "recoup.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A flag wins over the environment, which wins over the file, which wins over the default.
// Each part of a program receives the values of its own settings.
func TestValues(t *testing.T) {
	t.Parallel()
	var single bool
	var workers int
	var wait time.Duration
	settings := []config.Setting{
		{Name: "bus", Env: "RECOUP_BUS", Secret: true},
		{Name: "bus-single", Env: "RECOUP_BUS_SINGLE", Default: "false", Read: func(s string) error { return config.Bool(&single, s) }},
		{Name: "workers", Env: "RECOUP_WORKERS", Default: "1", Read: func(s string) error { return config.Count(&workers, s) }},
		{Name: "wait", Env: "RECOUP_WAIT", Default: "20s", Read: func(s string) error { return config.Duration(&wait, s) }},
	}
	env := map[string]string{"RECOUP_BUS": "nats://ada:hunter2@bus1:4222", "RECOUP_WORKERS": "3"}
	s := config.Sources{
		Flags: map[string]string{"workers": "4"}, File: file(t, "bus: nats://bus2\nbus_single: true\nworkers: 2\nchannels: {chat: {kind: log}}\n"),
		Env: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
	}
	if err := s.ReadFile(); err != nil {
		t.Fatal(err)
	}
	if section := fmt.Sprint(s.TakeSection("channels")); section != "map[chat:map[kind:log]]" {
		t.Errorf("the section is %s", section)
	}
	values, bad := s.Values(settings)
	if len(bad) > 0 {
		t.Fatal(bad)
	}
	if !single || workers != 4 || wait != 20*time.Second {
		t.Errorf("read %v, %d, %v", single, workers, wait)
	}
	var sources []string
	for _, v := range values {
		sources = append(sources, v.Name+" "+v.Source)
	}
	if want := []string{"bus RECOUP_BUS", "bus-single " + s.File, "workers --workers", "wait default"}; fmt.Sprint(sources) != fmt.Sprint(want) {
		t.Errorf("sources are %v, want %v", sources, want)
	}
	if got := values.Get("bus"); got != env["RECOUP_BUS"] || values.Get("nothing") != "" {
		t.Errorf("got %q and %q", got, values.Get("nothing"))
	}
	if got := values.Masked().Get("bus"); got != "nats://ada:***@bus1:4222" {
		t.Errorf("shown is %s", got)
	}
	if !values.HasSecrets("RECOUP_BUS") || values.HasSecrets(s.File) {
		t.Error("the secret is in the environment and nowhere else")
	}
}

// Every bad value is reported with its source, and so is a name that no setting has.
func TestBadValues(t *testing.T) {
	t.Parallel()
	refuse := func(string) error { return errors.New("must be another") }
	s := config.Sources{File: file(t, "one: 1\nthree: 3\n"), Env: func(string) (string, bool) { return "", false }}
	if err := s.ReadFile(); err != nil {
		t.Fatal(err)
	}
	_, bad := s.Values([]config.Setting{{Name: "one", Read: refuse}, {Name: "two", Default: "2", Read: refuse}})
	want := []string{"one (from " + s.File + "): must be another", "two (from default): must be another", s.File + `: there is no setting "three"`}
	if got := errors.Join(bad...); got == nil || got.Error() != strings.Join(want, "\n") {
		t.Errorf("got %v, want %v", got, want)
	}
}
