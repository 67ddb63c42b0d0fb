package bus

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/config"
)

// Settings are those of the bus.
func Settings() []config.Setting {
	return []config.Setting{
		{
			Name: "bus", Env: "RECOUP_BUS", After: "tls-key", Secret: true, Read: checkURL,
			Help: "NATS `URL[,URL]` of a bus that carries events to the ledger: nats://… or tls://…; needs PostgreSQL (default: none)",
		},
		{
			Name: "bus-credentials", Env: "RECOUP_BUS_CREDENTIALS", After: "bus", SecretFile: true,
			Help: "`FILE` with the credentials for the bus (default: those of --bus)",
		},
		{
			Name: "bus-ca", Env: "RECOUP_BUS_CA", After: "bus-credentials",
			Help: "`FILE` with the certificates that the servers of the bus are signed by, PEM (default: the system's)",
		},
		{
			Name: "bus-cert", Env: "RECOUP_BUS_CERT", After: "bus-ca",
			Help: "`FILE` with the certificate that this node shows the bus, PEM (default: none)",
		},
		{
			Name: "bus-key", Env: "RECOUP_BUS_KEY", After: "bus-cert", SecretFile: true,
			Help: "`FILE` with that certificate's key, PEM",
		},
		{
			Name: "bus-single", Env: "RECOUP_BUS_SINGLE", Default: "false", After: "bus-key", Read: checked(readSingle),
			Help: "`BOOL`: a bus with one replica will do, for trials; a server that dies then takes acknowledged events along",
		},
		{
			Name: "bus-limit", Env: "RECOUP_BUS_LIMIT", Default: "8GB", After: "bus-single", Read: checked(readLimit),
			Help: "`SIZE` up to which events wait on the bus, if this node makes its stream",
		},
		{
			Name: "bus-monitor", Env: "RECOUP_BUS_MONITOR", After: "bus-limit", Secret: true, Read: checked(readMonitors),
			Help: "`URL[,URL]` of the monitoring of the bus's servers, such as http://10.0.0.7:8222, for the doctor (default: it cannot tell whether they sync always)",
		},
	}
}

// ReadOptions reads the options of the bus from settings. Without a URL there is no bus.
func ReadOptions(v config.Values) (o Options, err error) {
	o = Options{URL: v.Get("bus"), Credentials: v.Get("bus-credentials"), CA: v.Get("bus-ca"), Cert: v.Get("bus-cert"), Key: v.Get("bus-key")}
	single, limit := v.Get("bus-single"), v.Get("bus-limit")
	err = checkURL(o.URL)
	if single != "" {
		var wrong error
		o.Single, wrong = readSingle(single)
		err = errors.Join(err, wrong)
	}
	if limit != "" {
		var wrong error
		o.MaxBytes, wrong = readLimit(limit)
		err = errors.Join(err, wrong)
	}
	monitors, wrong := readMonitors(v.Get("bus-monitor"))
	o.Monitors = monitors
	return o, errors.Join(err, wrong)
}

// CheckSettings says what is wrong with settings of the bus that do not go together.
func CheckSettings(v config.Values) error {
	o, err := ReadOptions(v)
	switch {
	case err != nil:
		return err
	case o.URL == "":
		return missing(&o)
	case strings.HasPrefix(v.Get("database"), "sqlite:"):
		return ErrNeedsPostgres
	case (o.Cert == "") != (o.Key == ""):
		return errors.New("--bus-cert and --bus-key go together: give both or none")
	case o.Credentials != "" && strings.Contains(o.URL, "@"):
		return errors.New("--bus-credentials and a user in --bus: give one of them")
	}
	return o.CheckFiles()
}

// ErrNeedsPostgres is returned for a bus beside a file, which one node alone writes.
var ErrNeedsPostgres = errors.New("--bus needs PostgreSQL: with SQLite one node alone writes, and a bus in front of it would be one more place to fail; leave --bus out, or set --database postgres://…")

// missing says which options there are of a bus that there is not.
func missing(o *Options) error {
	var alone []string
	for flag, value := range map[string]string{"--bus-credentials": o.Credentials, "--bus-ca": o.CA, "--bus-cert": o.Cert, "--bus-key": o.Key} {
		if value != "" {
			alone = append(alone, flag)
		}
	}
	if len(alone) == 0 {
		return nil
	}
	slices.Sort(alone)
	return fmt.Errorf("%s without --bus: set --bus nats://HOST:PORT too, or leave them out", strings.Join(alone, ", "))
}

// checked makes the check of a setting of what reads it.
func checked[T any](read func(string) (T, error)) func(string) error {
	return func(s string) error { _, err := read(s); return err }
}

func checkURL(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if u, err := url.Parse(part); s != "" && (err != nil || u.Host == "" || !isServer(part)) {
			return errors.New("must be nats://HOST:PORT or tls://HOST:PORT, several with commas between them; a user and a password may be before HOST, as in nats://USER:PASSWORD@HOST, with % codes for characters such as a comma (%2C)")
		}
	}
	return nil
}

func isServer(s string) bool {
	return strings.HasPrefix(s, "nats://") || strings.HasPrefix(s, "tls://")
}

func readSingle(s string) (single bool, err error) {
	err = config.Bool(&single, s)
	return single, err
}

func readLimit(s string) (int64, error) {
	for suffix, unit := range map[string]int64{"MB": 1e6, "GB": 1e9, "TB": 1e12} {
		if number, ok := strings.CutSuffix(s, suffix); ok {
			if n, err := strconv.ParseInt(number, 10, 32); err == nil && n > 0 {
				return n * unit, nil
			}
		}
	}
	return 0, errors.New("must be a size such as 500MB or 8GB")
}

func readMonitors(s string) (list []string, err error) {
	for part := range strings.SplitSeq(s, ",") {
		if s == "" {
			return nil, nil
		}
		u, err := url.Parse(strings.TrimSpace(part))
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("must be http://HOST:PORT, several with commas between them")
		}
		list = append(list, u.String())
	}
	return list, nil
}
