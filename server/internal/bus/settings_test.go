package bus_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/config"
)

// set reads settings of the bus from flags.
func set(flags map[string]string) (config.Values, []error) {
	sources := config.Sources{Flags: flags, Env: func(string) (string, bool) { return "", false }}
	return sources.Values(append([]config.Setting{{Name: "database", Default: "postgres://db/recoup"}}, bus.Settings()...))
}

// What is shown of the addresses of a bus has no password in it, also when they are wrong.
func TestMaskedSettings(t *testing.T) {
	t.Parallel()
	for _, given := range []map[string]string{
		{"bus": "nats://hunter2@bus1:4222"}, {"bus": "nats://ada:hunter2@bus1:4222, tls://ada:hunter2@bus2:4222"}, {"bus": "nats://ada:hunter2,x@bus1"},
		{"bus-monitor": "http://bus1:8222,https://ada:hunter2@bus2:8222"},
	} {
		read, bad := set(given)
		for _, v := range read.Masked() {
			if strings.Contains(v.Value, "hunter2") {
				t.Errorf("%v is shown as %s", given, v.Value)
			}
		}
		for _, err := range bad {
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v: %v", given, err)
			}
		}
	}
}

// Settings become options; the defaults are those that the settings show.
func TestReadOptions(t *testing.T) {
	t.Parallel()
	values, bad := set(map[string]string{"bus": "nats://bus1:4222", "bus-single": "true", "bus-limit": "500MB", "bus-monitor": "http://bus1:8222,http://bus2:8222"})
	o, err := bus.ReadOptions(values)
	if len(bad) > 0 || err != nil || o.URL != "nats://bus1:4222" || !o.Single || o.MaxBytes != 500e6 || len(o.Monitors) != 2 {
		t.Errorf("got %+v, %v, %v", o, bad, err)
	}
	values, _ = set(nil)
	if o, err := bus.ReadOptions(values); err != nil || o.URL != "" || o.Single || o.MaxBytes != 8e9 || o.Monitors != nil {
		t.Errorf("by default got %+v, %v", o, err)
	}
	if o, err := bus.ReadOptions(nil); err != nil || o.URL != "" {
		t.Errorf("without settings got %+v, %v", o, err)
	}
}

// A setting that is wrong by itself, or beside others, is refused with what would be right.
func TestCheckSettings(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "a.creds")
	if err := os.WriteFile(file, []byte("no credentials"), 0o600); err != nil {
		t.Fatal(err)
	}
	const server = "nats://bus1:4222"
	for want, given := range map[string]map[string]string{
		"bus (from --bus): must be nats://HOST:PORT":                          {"bus": "http://bus1:4222"},
		"bus-limit (from --bus-limit): must be a size":                        {"bus-limit": "8"},
		"bus-single (from --bus-single): must be true or false":               {"bus-single": "maybe"},
		"bus-monitor (from --bus-monitor): must be http://HOST:PORT":          {"bus-monitor": server},
		"--bus-ca, --bus-key without --bus: set --bus nats://HOST:PORT too":   {"bus-ca": file, "bus-key": file},
		"--bus needs PostgreSQL":                                              {"bus": server, "database": "sqlite:recoup.db"},
		"--bus-cert and --bus-key go together":                                {"bus": server, "bus-cert": file},
		"--bus-credentials and a user in --bus: give one of them":             {"bus": "nats://ada:x@bus1:4222", "bus-credentials": file},
		"--bus-credentials " + file + ": it holds no user's credentials":      {"bus": server, "bus-credentials": file},
		"--bus-ca " + file + ": it holds no certificate":                      {"bus": server, "bus-ca": file},
		"--bus-cert " + file + " with --bus-key " + file + ": tls: failed to": {"bus": server, "bus-cert": file, "bus-key": file},
	} {
		values, bad := set(given)
		if len(bad) == 0 {
			bad = append(bad, bus.CheckSettings(values))
		}
		if bad[0] == nil || !strings.HasPrefix(bad[0].Error(), want) {
			t.Errorf("%v: got %v, want %s", given, bad[0], want)
		}
	}
	for _, given := range []map[string]string{nil, {"bus": server}, {"bus": server + ", tls://bus2:4222", "bus-limit": "1TB"}} {
		values, bad := set(given)
		if err := bus.CheckSettings(values); err != nil || len(bad) > 0 {
			t.Errorf("%v: %v, %v", given, err, bad)
		}
	}
	values, _ := set(map[string]string{"bus-key": "key.pem", "bus-credentials": "a.creds", "bus-cert": "cert.pem"})
	if got := strings.Join(values.SecretFiles(), " "); got != "a.creds key.pem" {
		t.Errorf("the files with secrets are %s", got)
	}
}
