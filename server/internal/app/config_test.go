package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/config"
)

// noneAdded is the configuration of a node without slices.
var noneAdded config.Added

// A flag wins over the environment, which wins over the file, which wins over the
// default; and each value says where it came from.
func TestReadConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "recoup.yaml")
	if err := os.WriteFile(file, []byte("listen: 127.0.0.1:1\nrate_per_key: 7\ngrace: 3s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"RECOUP_LISTEN": "127.0.0.1:2", "RECOUP_RATE_PER_KEY": "8"}
	read, options, err := app.ReadConfig(map[string]string{"listen": "127.0.0.1:3"}, lookup(env), file, noneAdded)
	if err != nil {
		t.Fatal(err)
	}
	if options.Listen != "127.0.0.1:3" || options.Limits.PerKey != 8 || options.Grace != 3*time.Second || options.Limits.InFlight != 256 {
		t.Errorf("got %+v", options)
	}
	sources := map[string]string{}
	for _, v := range read {
		sources[v.Name] = v.Source
	}
	if sources["listen"] != "--listen" || sources["rate-per-key"] != "RECOUP_RATE_PER_KEY" || sources["grace"] != file || sources["in-flight"] != "default" {
		t.Errorf("the sources are %v", sources)
	}
}

func lookup(env map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value, ok
	}
}

// All that is wrong is reported at once.
func TestBadConfig(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "recoup.yaml")
	if err := os.WriteFile(file, []byte("listen: here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := app.ReadConfig(map[string]string{
		"database": "mysql://x", "rate-per-key": "0", "in-flight": "many", "grace": "-1s", "log-level": "loud", "log-format": "xml", "otlp-endpoint": "ftp://x",
	}, lookup(nil), file, noneAdded)
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, name := range []string{"database", "rate-per-key", "in-flight", "grace", "log-level", "log-format", "otlp-endpoint", "listen"} {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("nothing is said of %s in %v", name, err)
		}
	}
	for _, listen := range []string{"", "8080", "localhost"} {
		if _, _, err := app.ReadConfig(map[string]string{"listen": listen}, lookup(nil), "", noneAdded); err == nil {
			t.Errorf("listens on %q", listen)
		}
	}
	if _, _, err := app.ReadConfig(nil, lookup(nil), filepath.Join(t.TempDir(), "none"), noneAdded); err == nil {
		t.Error("a file that does not exist was read")
	}
}

// What is shown of a database's address has no password in it, however it is put.
func TestMaskedConfig(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://ada:hunter2@db/recoup?sslmode=require", "postgres://ada@db/recoup?password=hunter2", "postgres://ada:hun%ter2@db/recoup",
		"postgres://ada:hunter2@db/recoup?sslpassword=hunter2&sslkey=hunter2", "postgresql://db/recoup?user=ada&PASSWORD=hunter2",
	} {
		read, _, _ := app.ReadConfig(map[string]string{"database": address}, lookup(nil), "", noneAdded)
		for _, v := range read.Masked() {
			if strings.Contains(v.Value, "hunter2") || strings.Contains(v.Value, "hun%ter2") {
				t.Errorf("%s is shown as %s", address, v.Value)
			}
		}
	}
	if got := config.MaskURL("postgres://ada:x@db/recoup"); got != "postgres://ada:***@db/recoup" {
		t.Errorf("got %s", got)
	}
}
