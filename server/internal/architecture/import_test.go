package architecture

// layer says what a package may import beside the standard library. Tests are
// free to import more: what they need never reaches who imports the package.
type layer struct {
	pkg       string
	imports   []string // packages of this tree
	libraries []string // modules of others
	anything  bool     // no limit: it stands at the edge
	why       string
}

// layers is the import graph, from the bottom up. A package may import what its
// row names and nothing else; a package without a row is refused, so a new one
// begins with the question where it belongs.
var layers = []layer{
	{pkg: "recoup", why: "the vocabulary is shared by all and drags in nothing"},
	{
		pkg:     "recoup/retry",
		imports: []string{"recoup"},
		why:     "other programs import it: only the standard library and the vocabulary",
	},
	{
		pkg:     "recoup/fault",
		imports: []string{"recoup", "recoup/retry"},
		why:     "other programs import it: only the standard library, the vocabulary and retry",
	},
	{
		pkg:     "recoup/client",
		imports: []string{"recoup", "recoup/internal/query", "recoup/retry", "recoup/fault", "recoup/stage", "recoup/internal/signature"},
		why:     "other programs import it: only the standard library, the public packages, and how signatures are made",
	},
	{
		pkg:     "recoup/stage",
		imports: []string{"recoup", "recoup/retry", "recoup/fault", "recoup/internal/redact"},
		why:     "other programs import it; a dead letter is cleaned before it leaves them",
	},
	{
		pkg:     "recoup/internal/redact",
		imports: []string{"recoup"},
		why:     "everything that is stored passes through it, so it knows nobody",
	},
	{
		pkg:       "recoup/server/internal/check",
		imports:   []string{"recoup/fault", "recoup/internal/redact"},
		libraries: []string{"golang.org/x/text"},
		why:       "everything that callers send is checked by it; what it means, others know",
	},
	{pkg: "recoup/internal/redact/redacttest", why: "it makes secrets for tests, and must not know the rules that are to find them"},
	{pkg: "recoup/server/internal/pace", why: "it says when a node may sleep, and knows neither its loops nor its store"},
	{pkg: "recoup/server/internal/suggest", why: "it compares words and knows nothing of what they name"},
	{pkg: "recoup/server/internal/webfile", why: "it serves bytes, and knows nothing of what they are"},
	{pkg: "recoup/server/internal/test/faultproxy", why: "it stalls and cuts connections for tests, and knows no protocol"},
	{pkg: "recoup/internal/signature", why: "who signs and who checks share it, so it knows nobody"},
	{pkg: "recoup/server/internal/wire", imports: []string{"recoup", "recoup/fault"}, why: "it declares the JSON types of administrative calls, which all layers share, and knows none of them"},
	{pkg: "recoup/server/internal/admin", imports: []string{"recoup", "recoup/fault", "recoup/client", "recoup/internal/query", "recoup/server/internal/wire"}, why: "it makes the calls of administrators for the CLI and the console, and sees a server only over HTTP"},
	{pkg: "recoup/internal/query", imports: []string{"recoup"}, why: "it collects the parameters of requests, and knows no request"},
	{
		pkg:       "recoup/server/internal/policy",
		imports:   []string{"recoup", "recoup/server/internal/wire", "recoup/retry", "recoup/fault", "recoup/server/internal/suggest"},
		libraries: []string{"github.com/goccy/go-yaml", "github.com/santhosh-tekuri/jsonschema/v6"},
		why:       "a policy is asked and does not act: it knows codes and schedules, not states",
	},
	{
		pkg:     "recoup/server/internal/fingerprint",
		imports: []string{"recoup"},
		why:     "which failures are the same is a pure function of their texts",
	},
	{
		pkg:     "recoup/server/internal/lifecycle",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/retry", "recoup/fault", "recoup/server/internal/policy", "recoup/server/internal/fingerprint"},
		why:     "the state machine is pure: it sees a policy, an error and a time",
	},
	{
		pkg:     "recoup/server/internal/proof",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/retry", "recoup/fault", "recoup/server/internal/policy", "recoup/server/internal/lifecycle"},
		why:     "it proves things of a policy by walking the state machine, without a store",
	},
	{
		pkg:     "recoup/server/internal/simulation",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/retry", "recoup/fault", "recoup/server/internal/policy", "recoup/server/internal/lifecycle"},
		why:     "it runs the state machine over made-up time, without a store",
	},
	{
		pkg:       "recoup/server/internal/archive/parquet",
		libraries: []string{"github.com/klauspost/compress"},
		why:       "it writes and reads a format; what the columns mean, others know",
	},
	{
		pkg:       "recoup/server/internal/archive/parquet/parquettest",
		imports:   []string{"recoup/server/internal/archive/parquet"},
		libraries: []string{"github.com/klauspost/compress"},
		why:       "it crafts files for tests, in a schema it is given",
	},
	{
		pkg:     "recoup/server/internal/archive/s3",
		imports: []string{"recoup", "recoup/retry"},
		why:     "it signs and sends requests; what is in an object, others know",
	},
	{
		pkg:     "recoup/server/internal/archive/s3/s3test",
		imports: []string{"recoup/server/internal/test/tool", "recoup/retry"},
		why:     "it runs a server for tests, and knows no client",
	},
	{
		pkg:     "recoup/server/internal/store",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/fault", "recoup/server/internal/policy", "recoup/server/internal/lifecycle", "recoup/server/internal/store/sqldb"},
		why:     "it holds what both stores share, and knows neither of them",
	},
	{
		pkg:     "recoup/server/internal/access",
		imports: []string{"recoup", "recoup/fault", "recoup/server/internal/policy", "recoup/server/internal/check", "recoup/server/internal/store"},
		why:     "services and the HTTP kit share who calls, and neither imports the other",
	},
	{
		pkg:     "recoup/server/internal/store/sqldb",
		imports: []string{"recoup/server/internal/wire", "recoup"},
		why:     "packages with statements of their own use it on both databases; it knows nothing of what is stored, and no driver",
	},
	{
		pkg:     "recoup/server/internal/store/sqldb/sqldbtest",
		imports: []string{"recoup/server/internal/store/sqldb"},
		why:     "it holds tables to the types of their rows, whatever these are",
	},
	{
		pkg:     "recoup/server/internal/store/sqlops",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/fault", "recoup/server/internal/store", "recoup/server/internal/store/sqldb"},
		why:     "it holds the operations both databases share, over an interface that each implements",
	},
	{
		pkg:       "recoup/server/internal/test/conformance",
		imports:   []string{"recoup", "recoup/server/internal/wire", "recoup/retry", "recoup/fault", "recoup/server/internal/policy", "recoup/server/internal/lifecycle", "recoup/server/internal/store", "recoup/server/internal/store/sqldb"},
		libraries: []string{"pgregory.net/rapid"},
		why:       "the one suite for all stores can depend on none of them",
	},
	{
		pkg:     "recoup/server/internal/test/queryrecorder",
		imports: []string{"recoup", "recoup/server/internal/store", "recoup/server/internal/store/sqldb", "recoup/server/internal/store/sqlops"},
		why:     "the tests of both stores ask verbs for their statements, and no store may be needed for that",
	},
	{
		pkg:       "recoup/server/internal/store/sqlite",
		imports:   []string{"recoup", "recoup/server/internal/wire", "recoup/fault", "recoup/server/internal/policy", "recoup/server/internal/lifecycle", "recoup/server/internal/store", "recoup/server/internal/store/sqldb", "recoup/server/internal/store/sqlops", "recoup/server/internal/turn"},
		libraries: []string{"modernc.org/sqlite", "github.com/pressly/goose/v3"},
		why:       "a store moves rows; who uses it is not its business",
	},
	{
		pkg:     "recoup/server/internal/store/sqlite/sqlitetest",
		imports: []string{"recoup/server/internal/store/sqlite"},
		why:     "it gives tests migrated files",
	},
	{
		pkg:       "recoup/server/internal/pgsession",
		libraries: []string{"github.com/jackc/pgx/v5"},
		why:       "it starts sessions and checks owners for all who connect to PostgreSQL; what they do there it does not know",
	},
	{
		pkg:       "recoup/server/internal/store/postgres",
		imports:   []string{"recoup", "recoup/server/internal/wire", "recoup/fault", "recoup/server/internal/pgsession", "recoup/server/internal/policy", "recoup/server/internal/lifecycle", "recoup/server/internal/store", "recoup/server/internal/store/sqldb", "recoup/server/internal/store/sqlops"},
		libraries: []string{"github.com/jackc/pgx/v5", "github.com/pressly/goose/v3"},
		why:       "a store moves rows and classifies what its database says; who uses it is not its business",
	},
	{
		pkg:       "recoup/server/internal/store/postgres/pgtest",
		imports:   []string{"recoup/server/internal/store/postgres", "recoup/server/internal/test/tool"},
		libraries: []string{"github.com/jackc/pgx/v5"},
		why:       "it starts a private server for tests and migrates its databases",
	},
	{pkg: "recoup/server/internal/adoption/cli", anything: true, why: "a group of commands"},
	{
		pkg:       "recoup/server/internal/adoption/module",
		imports:   []string{"recoup/server/internal/adoption", "recoup/server/internal/adoption/cli", "recoup/server/internal/doctor", "recoup/server/internal/slice"},
		libraries: []string{"github.com/prometheus/client_golang"},
		why:       "it registers adopted tables, and decides nothing",
	},
	{pkg: "recoup/server/internal/adoption/preset", imports: []string{"recoup/server/internal/wire", "recoup"}, why: "it is data: how the tables of queues are recognised and read, for whoever asks"},
	{pkg: "recoup/server/internal/adoption/preset/presettest", why: "it gives tests the tables of queues, as SQL"},
	{
		pkg:       "recoup/server/internal/adoption/define",
		imports:   []string{"recoup", "recoup/server/internal/wire", "recoup/server/internal/adoption/preset", "recoup/server/internal/pgsession"},
		libraries: []string{"github.com/jackc/pgx/v5"},
		why:       "it defines adoptions in a database; nodes reach them through that alone",
	},
	{pkg: "recoup/server/internal/forecast", why: "it is a function of counts, and knows nobody"},
	{
		pkg:     "recoup/server/internal/stream",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/server/internal/store"},
		why:     "it hands on what has changed, and ends streams with their credential; who may see it and how it is sent, others know",
	},
	{
		pkg:     "recoup/server/internal/lease",
		imports: []string{"recoup/server/internal/check", "recoup/server/internal/store", "recoup/server/internal/store/sqldb"},
		why:     "whatever workers claim is claimed by its rules; what a lease is of, others know",
	},
	{
		pkg:       "recoup/server/internal/config",
		libraries: []string{"github.com/goccy/go-yaml"},
		why:       "it reads settings; which there are, and what they mean, their owners know",
	},
	{
		pkg:     "recoup/server/internal/turn",
		imports: []string{"recoup"},
		why:     "it shares the processors between callers; what the work is, others know",
	},
	{
		pkg:     "recoup/server/internal/batch",
		imports: []string{"recoup", "recoup/server/internal/store", "recoup/server/internal/turn"},
		why:     "whatever callers send many of is served by it; what the items are, others know",
	},
	{
		pkg:     "recoup/server/internal/rowfile",
		imports: []string{"recoup/fault"},
		why:     "it reads rows of files and cuts files between them; what the rows say, others know",
	},
	{
		pkg: "recoup/server/internal/archive",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/fault", "recoup/server/internal/archive/s3", "recoup/server/internal/archive/parquet", "recoup/server/internal/config", "recoup/server/internal/scheduler",
			"recoup/server/internal/store", "recoup/server/internal/store/sqldb"},
		why: "it moves days of the ledger into files and back, when its job is due",
	},
	{pkg: "recoup/server/internal/archive/cli", anything: true, why: "a group of commands"},
	{
		pkg:     "recoup/server/internal/archive/module",
		imports: []string{"recoup/server/internal/archive", "recoup/server/internal/archive/cli", "recoup/server/internal/slice"},
		why:     "it registers event files, and does nothing itself",
	},
	{
		pkg:     "recoup/server/internal/backfill",
		imports: []string{"recoup", "recoup/fault", "recoup/server/internal/engine", "recoup/server/internal/rowfile"},
		why:     "it reads failures from files and sums up what became of them; the engine decides",
	},
	{
		pkg:       "recoup/server/internal/gatezero",
		imports:   []string{"recoup", "recoup/fault", "recoup/server/internal/wire", "recoup/server/internal/turn", "recoup/server/internal/policy", "recoup/server/internal/batch", "recoup/server/internal/check", "recoup/internal/redact", "recoup/server/internal/lease", "recoup/server/internal/notify", "recoup/server/internal/push", "recoup/server/internal/rowfile", "recoup/server/internal/scheduler", "recoup/server/internal/store", "recoup/server/internal/store/sqldb"},
		libraries: []string{"github.com/prometheus/client_golang"},
		why:       "it is Gate Zero: a pure state machine, a service on it, and its statements for both databases; it knows neither HTTP nor a driver",
	},
	{
		pkg:       "recoup/server/internal/gatezero/web",
		imports:   []string{"recoup", "recoup/fault", "recoup/server/internal/check", "recoup/server/internal/console", "recoup/server/internal/gatezero", "recoup/server/internal/httpapi", "recoup/server/internal/store/sqldb", "recoup/server/internal/turn"},
		libraries: []string{"github.com/danielgtaylor/huma/v2"},
		why:       "it has the routes and pages of Gate Zero, and asks its service",
	},
	{pkg: "recoup/server/internal/gatezero/cli", anything: true, why: "a group of commands"},
	{
		pkg: "recoup/server/internal/gatezero/module",
		imports: []string{"recoup/server/internal/gatezero", "recoup/server/internal/gatezero/cli", "recoup/server/internal/gatezero/web", "recoup/server/internal/httpapi", "recoup/server/internal/policy", "recoup/server/internal/push",
			"recoup/server/internal/scheduler", "recoup/server/internal/slice", "recoup/server/internal/store/sqldb"},
		libraries: []string{"github.com/prometheus/client_golang"},
		why:       "it registers Gate Zero; nothing is decided in it",
	},
	{
		pkg:     "recoup/server/internal/gatezero/gatezerotest",
		imports: []string{"recoup", "recoup/server/internal/gatezero", "recoup/server/internal/policy", "recoup/server/internal/store", "recoup/server/internal/store/sqldb", "recoup/server/internal/test/conformance", "recoup/server/internal/wire"},
		why:     "the suite of Gate Zero can depend on no database",
	},
	{pkg: "recoup/server/internal/egress", why: "it decides which addresses are public, and knows nobody who connects"},
	{
		pkg:     "recoup/server/internal/gatezero/verify",
		imports: []string{"recoup/server/internal/egress"},
		why:     "it looks at domains, with the resolver and the HTTP client it is given, and knows nothing of Gate Zero",
	},
	{
		pkg:     "recoup/server/internal/alert",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/fault", "recoup/server/internal/policy", "recoup/server/internal/store", "recoup/server/internal/store/sqldb"},
		why:     "it measures and judges; where figures come from and how people are notified, others know",
	},
	{
		pkg:       "recoup/server/internal/bus",
		imports:   []string{"recoup", "recoup/retry", "recoup/server/internal/wire", "recoup/fault", "recoup/server/internal/config", "recoup/server/internal/doctor", "recoup/server/internal/ledger", "recoup/server/internal/scheduler", "recoup/server/internal/store", "recoup/server/internal/store/sqldb"},
		libraries: []string{"github.com/nats-io/nats.go", "github.com/nats-io/nkeys", "github.com/prometheus/client_golang"},
		why:       "it is the ledger's transport over JetStream, and writes to the ledger what comes by it",
	},
	{
		pkg: "recoup/server/internal/bus/web",
		imports: []string{"recoup", "recoup/fault", "recoup/client", "recoup/internal/query", "recoup/server/internal/admin", "recoup/server/internal/bus", "recoup/server/internal/check", "recoup/server/internal/console",
			"recoup/server/internal/deadletter", "recoup/server/internal/httpapi"},
		why: "it serves the bus over HTTP; what is done the service of the bus decides",
	},
	{pkg: "recoup/server/internal/bus/cli", anything: true, why: "a group of commands"},
	{
		pkg:       "recoup/server/internal/bus/module",
		imports:   []string{"recoup/server/internal/bus", "recoup/server/internal/bus/cli", "recoup/server/internal/bus/web", "recoup/server/internal/doctor", "recoup/server/internal/ledger", "recoup/server/internal/slice"},
		libraries: []string{"github.com/prometheus/client_golang"},
		why:       "it registers the bus, and does nothing itself",
	},
	{
		pkg:       "recoup/server/internal/bus/bustest",
		libraries: []string{"github.com/nats-io/nats-server/v2"},
		why:       "it runs servers of the bus for tests; the program itself has none",
	},
	{
		pkg:     "recoup/server/internal/ledger",
		imports: []string{"recoup", "recoup/retry", "recoup/fault", "recoup/internal/redact", "recoup/server/internal/store", "recoup/server/internal/turn"},
		why:     "it governs and writes events; which database there is, its options say",
	},
	{
		pkg:     "recoup/server/internal/notify",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/retry", "recoup/server/internal/config", "recoup/server/internal/policy", "recoup/internal/redact", "recoup/server/internal/store", "recoup/server/internal/store/sqldb", "recoup/server/internal/alert", "recoup/internal/signature", "recoup/server/internal/egress"},
		why:     "it tells people what the outbox holds; the lifecycle does not know it, so it cannot wait for it",
	},
	{
		pkg:     "recoup/examples/renderdb/api",
		imports: []string{"recoup", "recoup/fault"},
		why:     "an example is a program of others: it imports what is public",
	},
	{
		pkg:     "recoup/examples/renderdb/ingest",
		imports: []string{"recoup", "recoup/fault", "recoup/retry"},
		why:     "a client knows the contract, not the service",
	},
	{
		pkg:     "recoup/examples/renderdb",
		imports: []string{"recoup", "recoup/examples/renderdb/api"},
		why:     "main gives the service its clock, its keys and its address",
	},
	{
		pkg:     "recoup/examples/hub",
		imports: []string{"recoup", "recoup/fault", "recoup/client"},
		why:     "an example is a program of others: it imports what is public",
	},
	{
		pkg:     "recoup/examples/images",
		imports: []string{"recoup", "recoup/fault", "recoup/retry", "recoup/stage", "recoup/client"},
		why:     "an example is a program of others: it imports what is public",
	},
	{
		pkg:     "recoup/server/examples/criticizer",
		imports: []string{"recoup", "recoup/fault", "recoup/retry", "recoup/stage", "recoup/client", "recoup/server/internal/app"},
		why:     "an example is a program of others; it brings its own server along, so that it runs by itself",
	},
	{
		pkg:     "recoup/server/internal/engine",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/fault", "recoup/server/internal/access", "recoup/server/internal/policy", "recoup/server/internal/lifecycle", "recoup/server/internal/fingerprint", "recoup/server/internal/batch", "recoup/server/internal/check", "recoup/internal/redact", "recoup/server/internal/lease", "recoup/server/internal/store", "recoup/server/internal/store/sqldb"},
		why:     "it applies decisions to stored errors, and knows neither HTTP nor SQL",
	},
	{
		pkg:       "recoup/server/internal/adoption",
		imports:   []string{"recoup", "recoup/server/internal/wire", "recoup/retry", "recoup/fault", "recoup/server/internal/policy", "recoup/server/internal/check", "recoup/internal/redact", "recoup/server/internal/lifecycle", "recoup/server/internal/store", "recoup/server/internal/store/sqldb", "recoup/server/internal/engine", "recoup/server/internal/deadletter", "recoup/server/internal/store/postgres", "recoup/server/internal/pgsession", "recoup/server/internal/adoption/define", "recoup/server/internal/adoption/preset", "recoup/server/internal/doctor"},
		libraries: []string{"github.com/prometheus/client_golang", "github.com/jackc/pgx/v5"},
		why:       "it compares rows of others with errors; what becomes of these, the engine decides. It works on PostgreSQL alone",
	},
	{
		pkg:     "recoup/server/internal/deadletter",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/fault", "recoup/retry", "recoup/server/internal/policy", "recoup/server/internal/lifecycle", "recoup/server/internal/fingerprint", "recoup/server/internal/batch", "recoup/server/internal/check", "recoup/internal/redact", "recoup/server/internal/lease", "recoup/server/internal/store", "recoup/server/internal/store/sqldb", "recoup/server/internal/engine"},
		why:     "it takes dead letters through their workflow beside the engine, whose policies and ledger it shares",
	},
	{
		pkg:     "recoup/server/internal/doctor",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/server/internal/policy", "recoup/server/internal/store"},
		why:     "it judges facts that others have gathered: it asks no database, no clock and no network",
	},
	{
		pkg:     "recoup/server/internal/scheduler",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/server/internal/policy", "recoup/server/internal/store"},
		why:     "it gives regular work its turn; what the work does to errors is the engine's, which its parts bring along",
	},
	{
		pkg: "recoup/server/internal/test/node",
		imports: []string{"recoup", "recoup/fault", "recoup/server/internal/policy", "recoup/server/internal/store", "recoup/server/internal/store/sqldb", "recoup/server/internal/store/sqlite", "recoup/server/internal/store/sqlite/sqlitetest",
			"recoup/server/internal/store/postgres", "recoup/server/internal/store/postgres/pgtest", "recoup/server/internal/engine", "recoup/server/internal/deadletter",
			"recoup/server/internal/alert", "recoup/server/internal/notify", "recoup/server/internal/scheduler"},
		why: "the tests of services share it: what has HTTP in it would have all of them built again for every change of a handler",
	},
	{
		pkg:     "recoup/server/internal/api/reference",
		imports: []string{"recoup/server/internal/webfile"},
		why:     "it makes pages of the OpenAPI document, and can show nothing that is not in it",
	},
	{
		pkg: "recoup/server/internal/httpapi",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/fault", "recoup/internal/redact", "recoup/server/internal/access", "recoup/server/internal/batch", "recoup/server/internal/check", "recoup/server/internal/lease",
			"recoup/server/internal/store", "recoup/server/internal/store/sqldb", "recoup/server/internal/stream", "recoup/server/internal/suggest", "recoup/server/internal/turn"},
		libraries: []string{"github.com/danielgtaylor/huma/v2"},
		why:       "it serves the routes of the core and of slices, and imports no service",
	},
	{
		pkg: "recoup/server/internal/api",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/retry", "recoup/fault", "recoup/server/internal/api/reference", "recoup/server/internal/check", "recoup/internal/redact", "recoup/server/internal/httpapi", "recoup/server/internal/lease", "recoup/server/internal/store", "recoup/server/internal/store/sqldb", "recoup/server/internal/turn",
			"recoup/server/internal/policy", "recoup/server/internal/lifecycle", "recoup/server/internal/engine", "recoup/server/internal/ledger", "recoup/server/internal/notify", "recoup/server/internal/scheduler",
			"recoup/server/internal/alert", "recoup/server/internal/deadletter", "recoup/server/internal/backfill", "recoup/server/internal/rowfile", "recoup/server/internal/stream", "recoup/server/internal/forecast", "recoup/server/internal/webfile"},
		libraries: []string{"github.com/danielgtaylor/huma/v2"},
		why:       "it speaks HTTP and asks others; which database there is, and the clock, its options say",
	},
	{
		pkg:     "recoup/server/internal/console",
		imports: []string{"recoup", "recoup/server/internal/admin", "recoup/server/internal/wire", "recoup/fault", "recoup/client", "recoup/server/internal/store", "recoup/server/internal/store/sqldb", "recoup/server/internal/stream", "recoup/server/internal/turn", "recoup/server/internal/webfile"},
		why:     "it makes pages of what the API answers, and can do nothing that the API cannot; of a store it knows who is signed in",
	},
	{
		pkg: "recoup/server/internal/push",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/retry", "recoup/fault", "recoup/internal/redact", "recoup/server/internal/store", "recoup/server/internal/store/sqldb", "recoup/internal/signature",
			"recoup/server/internal/engine", "recoup/server/internal/deadletter", "recoup/server/internal/notify"},
		why: "it delivers what services hand out; HTTP's way in, and how a body is read, the app gives it",
	},
	{
		pkg: "recoup/server/internal/demo",
		imports: []string{"recoup", "recoup/fault", "recoup/server/internal/policy", "recoup/server/internal/lifecycle", "recoup/server/internal/store", "recoup/server/internal/store/sqldb", "recoup/server/internal/engine",
			"recoup/server/internal/deadletter", "recoup/server/internal/notify"},
		why: "it does what callers do, through the services; the node hands them in",
	},
	{
		pkg:      "recoup/server/internal/app",
		anything: true,
		why:      "it puts the parts together, and reads the clock",
	},
	{
		pkg:      "recoup/server/internal/test/live",
		anything: true,
		why:      "it runs nodes for tests, in their own process",
	},
	{pkg: "recoup/server/internal/test/golden", why: "it compares texts, and knows nothing of what they show"},
	{
		pkg:     "recoup/server/test/program",
		imports: []string{"recoup/server/internal/test/tool"},
		why:     "it builds the program for tests, and knows it from outside only",
	},
	{pkg: "recoup/server/internal/test/tool", why: "it finds programs of the machine, and knows none of them"},
	{pkg: "recoup/server/internal/test/tier", why: "it reads the environment and skips tests"},
	{
		pkg:     "recoup/server/test/chaos",
		imports: []string{"recoup", "recoup/server/internal/wire", "recoup/fault", "recoup/retry", "recoup/client", "recoup/server/internal/lifecycle"},
		why:     "it knows what clients see and what rows say; how nodes and databases are started and stopped, its user knows",
	},
	{
		pkg:      "recoup/server/internal/cli",
		anything: true,
		why:      "it ties all the others to the command line",
	},
	{pkg: "recoup/server/internal/cli/alerts", anything: true, why: "a group of commands"},
	{pkg: "recoup/server/internal/cli/codes", anything: true, why: "a group of commands"},
	{
		pkg:      "recoup/server/internal/cli/command",
		anything: true,
		why:      "what all commands share: it knows no command",
	},
	{
		pkg:      "recoup/server/internal/cli/complete",
		anything: true,
		why:      "what a shell offers for any command: it knows how help calls things, and asks the server",
	},
	{pkg: "recoup/server/internal/cli/deadletters", anything: true, why: "a group of commands"},
	{pkg: "recoup/server/internal/cli/errorcmd", anything: true, why: "a group of commands"},
	{pkg: "recoup/server/internal/cli/events", anything: true, why: "a group of commands"},
	{pkg: "recoup/server/internal/cli/keys", anything: true, why: "a group of commands"},
	{pkg: "recoup/server/internal/cli/notifications", anything: true, why: "a group of commands"},
	{
		pkg:     "recoup/server/internal/cli/stream",
		imports: []string{"recoup/server/internal/config"},
		why:     "every package that offers commands names it: it knows neither a client nor a node",
	},
	{pkg: "recoup/server/internal/cli/status", anything: true, why: "a group of commands"},
	{pkg: "recoup/server/internal/cli/policy", anything: true, why: "a group of commands"},
	{pkg: "recoup/server/internal/cli/server", anything: true, why: "a group of commands"},
	{
		pkg:      "recoup/server/internal/cli/clitest",
		anything: true,
		why:      "it runs commands for tests, against a node in their own process",
	},
	{pkg: "recoup/server/cmd/image", why: "it builds the image with the standard library alone, so that a release needs no engine"},
	{
		pkg: "recoup/server/cmd/release", imports: []string{"recoup/server/internal/cli"}, libraries: []string{"github.com/spf13/cobra", "github.com/spf13/pflag"},
		why: "it writes the manual from the commands, and what a binary is made of from the binary",
	},
	{
		pkg:     "recoup/server/cmd/generate",
		imports: []string{"recoup/server/internal/api", "recoup/server/internal/slices"},
		why:     "it writes what other languages know of the API, and asks nothing but its document",
	},
	{
		pkg: "recoup/server/internal/slice",
		imports: []string{"recoup", "recoup/server/internal/cli/stream", "recoup/server/internal/config", "recoup/server/internal/console", "recoup/server/internal/deadletter", "recoup/server/internal/doctor",
			"recoup/server/internal/engine", "recoup/server/internal/ledger", "recoup/server/internal/policy", "recoup/server/internal/push", "recoup/server/internal/scheduler", "recoup/server/internal/store", "recoup/server/internal/store/postgres", "recoup/server/internal/store/sqldb", "recoup/server/internal/httpapi"},
		libraries: []string{"github.com/prometheus/client_golang", "github.com/spf13/cobra"},
		why:       "it is how a feature registers what it adds: it names the kits, and no feature",
	},
	{
		pkg:       "recoup/server/internal/slices",
		imports:   []string{"recoup/server/internal/cli/stream", "recoup/server/internal/config", "recoup/server/internal/httpapi", "recoup/server/internal/slice", "recoup/server/internal/adoption/module", "recoup/server/internal/archive/module", "recoup/server/internal/bus/module", "recoup/server/internal/gatezero/module"},
		libraries: []string{"github.com/spf13/cobra"},
		why:       "it lists the slices, whose modules it alone imports",
	},
	{pkg: "recoup/server/internal/sdk", why: "it holds tests of the client against a node; there is nothing else in it"},
	{pkg: "recoup/server/test/load", why: "it schedules and measures; its caller defines what is sent"},
	{pkg: "recoup/server/test/benchcli", anything: true, why: "the commands of recoup-bench"},
	{
		pkg:       "recoup/server/test/cmd/recoup-bench",
		imports:   []string{"recoup/server/internal/cli/command", "recoup/server/test/benchcli"},
		libraries: []string{"golang.org/x/term"},
		why:       "main only hands the process over to the command line",
	},
	{pkg: "recoup/server/test/bench", why: "it holds benchmarks, which may import anything; there is nothing else in it"},
	{pkg: "recoup/server/test/endtoend", why: "it holds tests of the whole service, which may import anything; there is nothing else in it"},
	{
		pkg:       "recoup/server/cmd/recoup",
		imports:   []string{"recoup/server/internal/cli"},
		libraries: []string{"golang.org/x/term"},
		why:       "main only hands the process over to the command line",
	},
}
