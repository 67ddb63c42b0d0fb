package config_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/config"
)

// A setting that a part of a program adds has its place among the others, also behind one that
// is added before it. One that follows no setting is a mistake of the program.
func TestPlaceOfAddedSettings(t *testing.T) {
	t.Parallel()
	own := []config.Setting{{Name: "database"}, {Name: "listen"}}
	added := config.Added{Settings: []config.Setting{{Name: "last"}, {Name: "bus", After: "database"}, {Name: "bus-key", After: "bus"}}}
	var names []string
	for _, s := range added.In(own) {
		names = append(names, s.Name)
	}
	if fmt.Sprint(names) != "[database bus bus-key listen last]" || len(own) != 2 {
		t.Errorf("got %v", names)
	}
	defer func() {
		if got := fmt.Sprint(recover()); got != "config: the setting lost follows nothing, which is no setting" {
			t.Errorf("got %s", got)
		}
	}()
	config.Added{Settings: []config.Setting{{Name: "lost", After: "nothing"}}}.In(own)
}

// Each part of a program checks the values of all settings, and everything that is wrong is reported.
func TestChecksOfAddedSettings(t *testing.T) {
	t.Parallel()
	sources := config.Sources{Flags: map[string]string{"key": "a.pem"}, Env: func(string) (string, bool) { return "", false }}
	values, bad := sources.Values([]config.Setting{{Name: "key", SecretFile: true}, {Name: "ca"}, {Name: "other-key", SecretFile: true}})
	if len(bad) > 0 || fmt.Sprint(values.SecretFiles()) != "[a.pem]" {
		t.Errorf("the files with secrets are %v, %v", values.SecretFiles(), bad)
	}
	refuse := func(v config.Values) error { return errors.New(v.Get("key") + " without ca") }
	added := config.Added{Checks: []func(config.Values) error{refuse, func(config.Values) error { return nil }, refuse}}
	if got := fmt.Sprint(added.Check(values)); got != "[a.pem without ca a.pem without ca]" {
		t.Errorf("got %s", got)
	}
}
