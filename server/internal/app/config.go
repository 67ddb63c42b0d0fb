package app

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// setting is a setting of a node.
type setting struct {
	name, env, standard, help string

	secret bool
	read   func(*Options, string) error
}

// Settings returns the settings of a node. Their values are stored in the options.
func Settings(o *Options) []config.Setting {
	var list []config.Setting
	for _, s := range nodeSettings() {
		list = append(list, config.Setting{
			Name: s.name, Env: s.env, Default: s.standard, Help: s.help, Secret: s.secret, Switch: s.name == "standby",
			Read: func(value string) error { return s.read(o, value) },
		})
	}
	return list
}

func nodeSettings() []setting {
	return []setting{
		{"database", "RECOUP_DATABASE", DefaultDatabase, "database `URL`: sqlite:FILE or postgres://…", true,
			func(o *Options, s string) error { o.Database = s; _, _, err := splitDatabase(s); return err }},
		{"database-direct", "RECOUP_DATABASE_DIRECT", "", "database `URL` of PostgreSQL itself where --database is a pooler's, for LISTEN and migrations (default: poll, and do not migrate)", true, readDirect},
		{"adoption-database", "RECOUP_ADOPTION_DATABASE", "", "database `URL` at which nodes reach adopted tables (default: that of --database-direct or --database); its user and password are not used", true, readAdoption},
		{"schema-owner", "RECOUP_SCHEMA_OWNER", "", "`ROLE` that owns the schema recoup and may have the rights of the user of --database; needed where that user is another role with more rights, such as a superuser", false,
			func(o *Options, s string) error { o.SchemaOwner = s; return nil }},
		{"listen", "RECOUP_LISTEN", DefaultListen, "listen on `HOST:PORT`", false,
			readListen},
		{"metrics-listen", "RECOUP_METRICS_LISTEN", "", "serve metrics on `HOST:PORT`, without a key (default: /metrics of the API, for keys with the role reader, operator or admin)", false,
			readMetricsListen},
		{"tls-cert", "RECOUP_TLS_CERT", "", "`FILE` with the certificate and its chain, PEM; reloaded when it changes (default: no TLS)", false,
			func(o *Options, s string) error { o.TLSCert = s; return nil }},
		{"tls-key", "RECOUP_TLS_KEY", "", "`FILE` with the certificate's key, PEM", false,
			func(o *Options, s string) error { o.TLSKey = s; return nil }},
		{"policy", "RECOUP_POLICY", "", "policy `FILE` to put in force (default: the policy in the database)", false,
			func(o *Options, s string) error { o.Policy = s; return nil }},
		{"example", "RECOUP_EXAMPLE", "", "`EXAMPLE` policy that a new database begins with: spec (default: one with the table app.errors)", false, readExample},
		{"url", "RECOUP_URL", "", "public `URL` of this server, for links in notifications and answers (default: no links in notifications; in answers the request's host)", false, readURL},
		{"trusted-proxy", "RECOUP_TRUSTED_PROXY", "", "`CIDR[,CIDR]` of proxies in front of this server; only their X-Forwarded-For, -Host and -Proto are trusted (default: none)", false, readProxies},
		{"master-key-file", "RECOUP_MASTER_KEY_FILE", "", "`FILE` with the master key, 32 bytes in base64, that encrypts the keys in the database (default: they are stored in plaintext)", false, readMasterKey},
		{"admin-key-file", "RECOUP_ADMIN_KEY_FILE", "", "new `FILE` that a first start writes the admin key to; off: no key is created (default: printed on a terminal, else beside the database of SQLite or in $STATE_DIRECTORY or the current folder)", false,
			func(o *Options, s string) error { o.AdminKeyFile = s; return nil }},
		{"rate-per-key", "RECOUP_RATE_PER_KEY", "2000", "rate limit of a key: `N` requests per second", false,
			func(o *Options, s string) error { return config.Count(&o.Limits.PerKey, s) }},
		{"rate-without-key", "RECOUP_RATE_WITHOUT_KEY", "2000", "rate limit of an address without a valid key: `N` requests per second", false,
			func(o *Options, s string) error { return config.Count(&o.Limits.Unkeyed, s) }},
		{"names-per-key", "RECOUP_NAMES_PER_KEY", "1000", "at most `N` new services and pipeline stages per key and day", false,
			func(o *Options, s string) error { return config.Count(&o.Limits.Names, s) }},
		{"in-flight", "RECOUP_IN_FLIGHT", "256", "at most `N` concurrent requests before load is shed", false,
			func(o *Options, s string) error { return config.Count(&o.Limits.InFlight, s) }},
		{"grace", "RECOUP_GRACE", "20s", "`DURATION` that a stop waits for running requests", false,
			func(o *Options, s string) error { return config.Duration(&o.Grace, s) }},
		{"idle", "RECOUP_IDLE", "", "`DURATION` between two looks of an idle node at PostgreSQL: 1h lets a serverless database suspend (default: 30s, or 1s where work comes without a notification)", false, readIdle},
		{"standby", "RECOUP_STANDBY", "false", "`BOOL`: answer reads only, for a copy of a production database: no jobs, notifications, deliveries or requeued jobs, and changes are refused", false,
			func(o *Options, s string) error { return config.Bool(&o.Standby, s) }},
		{"otlp-endpoint", "RECOUP_OTLP_ENDPOINT", "", "OTLP `URL` for traces, such as http://127.0.0.1:4318; without a path, /v1/traces is added (default: none)", false, readTraces},
		{"log-level", "RECOUP_LOG_LEVEL", "info", "log `LEVEL`: debug, info, warn or error", false,
			func(o *Options, s string) error { return o.LogLevel.UnmarshalText([]byte(s)) }},
		{"log-format", "RECOUP_LOG_FORMAT", "text", "log `FORMAT`: text or json", false, readLogFormat},
	}
}

func readDirect(o *Options, s string) error {
	o.Direct = s
	if kind, _, err := splitDatabase(s); s != "" && (err != nil || kind != "postgres") {
		return errors.New("must be postgres://…, the address of PostgreSQL itself")
	}
	return nil
}

func readAdoption(o *Options, s string) error {
	o.Adoption = s
	if kind, _, err := splitDatabase(s); s != "" && (err != nil || kind != "postgres") {
		return errors.New("must be postgres://…, the same database as --database")
	}
	return nil
}

func readIdle(o *Options, s string) error {
	if s == "" {
		return nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < time.Second || d > 24*time.Hour {
		return errors.New("must be a duration from 1s to 24h, such as 1h")
	}
	o.Idle.Every = d
	return nil
}

func readListen(o *Options, s string) error {
	o.Listen = s
	if _, _, err := net.SplitHostPort(s); err != nil {
		return errors.New("must be HOST:PORT")
	}
	return nil
}

func readMetricsListen(o *Options, s string) error {
	o.MetricsListen = s
	if _, _, err := net.SplitHostPort(s); s != "" && err != nil {
		return errors.New("must be HOST:PORT")
	}
	return nil
}

func readLogFormat(o *Options, s string) error {
	if s != "text" && s != "json" {
		return errors.New("must be text or json")
	}
	o.LogJSON = s == "json"
	return nil
}

// tracesPath is where OTLP over HTTP takes traces below the base address of a collector.
const tracesPath = "/v1/traces"

func readTraces(o *Options, s string) error {
	u, err := url.Parse(s)
	if err != nil || s != "" && (u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("must be an address such as http://127.0.0.1:4318")
	}
	if u.Path == "" || u.Path == "/" { // the base address of a collector
		u.Path = tracesPath
	}
	if s != "" {
		s = u.String()
	}
	o.Traces = s
	return nil
}

// readProxies reads addresses and networks. One that holds everybody would let every
// client say where it comes from.
func readProxies(o *Options, s string) error {
	o.Proxies = nil
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if part == "" && s == "" {
			return nil
		}
		prefix, err := netip.ParsePrefix(part)
		if address, e := netip.ParseAddr(part); e == nil && address.Zone() == "" {
			prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
		}
		switch {
		case err != nil:
			return fmt.Errorf("%q is neither an address nor a network: write 10.0.0.7 or 10.0.0.0/24, several with commas between them", part)
		case prefix.Bits() == 0:
			return fmt.Errorf("%s holds every address, so every client could say where it comes from: name the proxies alone", part)
		case prefix.Addr().Is4In6():
			return fmt.Errorf("%s is an address of IPv4: write it as one, such as 10.0.0.0/24", part)
		}
		o.Proxies = append(o.Proxies, prefix.Masked())
	}
	return nil
}

// ReadConfig gathers the settings of a node, with what parts of it add: flags win
// over the environment, which wins over the file. Everything that is wrong is reported at
// once.
func ReadConfig(flags map[string]string, env func(string) (string, bool), file string, added config.Added) (config.Values, Options, error) {
	sources := config.Sources{Flags: flags, Env: env, File: file}
	if err := sources.ReadFile(); err != nil {
		return nil, Options{}, err
	}
	var options Options
	channels, shown, bad := readChannels(sources.TakeSection(channelSection().setting), env, file)
	receivers, more, wrong := readReceivers(sources.TakeSection("receivers"), env, file, receiverKinds(added.Receivers))
	options.Channels, options.Receivers = channels, receivers
	shown, bad = append(shown, more...), append(bad, wrong...)
	values, wrong := sources.Values(added.In(Settings(&options)))
	values, bad = append(values, shown...), append(bad, wrong...)
	options.Settings = values
	options.findLoose(file, values)
	slices.SortFunc(bad, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	if len(bad) == 0 {
		bad = append(added.Check(values), options.withDefaults().validate())
	}
	return values, options, errors.Join(bad...)
}

// logger makes the logger that the options ask for.
func (o *Options) logger(w interface{ Write([]byte) (int, error) }) *slog.Logger {
	options := &slog.HandlerOptions{Level: o.LogLevel, ReplaceAttr: unsaid}
	if o.LogJSON {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// LogTo makes the node write its log there.
func (o *Options) LogTo(w interface{ Write([]byte) (int, error) }) { o.Logger = o.logger(w) }

// readExample reads the policy that a new database begins with.
func readExample(o *Options, name string) error {
	if name == "" {
		return nil
	}
	text, ok := policy.Example(name)
	if !ok {
		return fmt.Errorf("%q is no example, expected %s", name, strings.Join(policy.Examples(), ", "))
	}
	o.First = text
	return nil
}
