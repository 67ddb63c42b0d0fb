package ledger

import (
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Store is what a writer needs of a database.
type Store = store.EventWriter

// The reasons under which is counted what did not get into the ledger. Where a
// reason says so, the event itself was stored without a part of it; what
// redact.EventDetails leaves out is counted under "details_" and its own reason.
const (
	DropMalformed = "malformed"         // cannot be read as an event
	DropCode      = "bad_code"          // not even the form of a code
	DropID        = "bad_id"            // neither a UUID nor a ULID
	DropTime      = "bad_time"          // older than the retention, or from the future
	DropService   = "no_service"        // nobody said who failed
	DropText      = "bad_text"          // too long, not UTF-8, or with control characters
	DropStatus    = "bad_status"        // no HTTP status
	DropSecret    = "secret_identifier" // an identifier that looks like a secret
	DropProvider  = "unknown_provider"  // part: an external service that is not registered
	DropForeign   = "foreign_service"   // a service of another hub than the key's
	DropQuery     = "endpoint_query"    // part: the query string of an endpoint
	// part: a provider that all hubs use, or another one, named with a key for some
	DropForeignProvider = "foreign_provider"

	DropRefusedByStore = "refused_by_store" // the database's own rules forbid it
	DropStoreFailed    = "store_failed"     // the database failed in a way that repeating does not mend
	DropQuarantine     = "quarantine"       // an operator dropped a batch that could not be written
	detailsPrefix      = "details_"         // part: see redact.Drops
)
