// Package archive stores events as files: each day of the ledger as one Parquet file,
// sorted by code, time and id, with a manifest beside it that says how many
// rows and bytes it has, and its checksum. A [Filer] writes such files to a [Place] and
// verifies them; an [Archive] reads them back.
//
// Events are in the ledger as they are in files: cleaned, with the keyed hash of the
// tenant. The package reads no clock and knows no SQL.
package archive

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/archive/parquet"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// The columns of a file, in their order.
const (
	columnCode = iota
	columnTS
	columnID
	columnCorrelation
	columnService
	columnEndpoint
	columnStatus
	columnProvider
	columnRegion
	columnReported
	columnTenant
	columnTenantKey
	columnDetails
)

// Schema is what the columns are called: as in the table of spec 003. Those that rows are
// sorted by come first.
func Schema() parquet.Schema {
	return parquet.Schema{
		{Name: "code", Kind: parquet.Text},
		{Name: "ts", Kind: parquet.Time},
		{Name: "event_id", Kind: parquet.UUID},
		{Name: "correlation_id", Kind: parquet.UUID},
		{Name: "service", Kind: parquet.Text},
		{Name: "endpoint", Kind: parquet.Text, Optional: true},
		{Name: "http_status", Kind: parquet.Int, Optional: true},
		{Name: "external_service", Kind: parquet.Text, Optional: true},
		{Name: "region", Kind: parquet.Text, Optional: true},
		{Name: "reported_code", Kind: parquet.Text, Optional: true},
		{Name: "tenant_hash", Kind: parquet.Text, Optional: true},
		{Name: "tenant_key", Kind: parquet.Text, Optional: true},
		{Name: "details", Kind: parquet.JSON, Optional: true},
	}
}

// What is wrong with a file.
var (
	ErrDamaged  = parquet.ErrDamaged
	ErrChecksum = errors.New("the file is not what its manifest says: it was changed or damaged after it was written")
	ErrVersion  = errors.New("the day has a file with the highest version there is")
	ErrCounts   = errors.New("the file does not have the events that the ledger has")
)

// The ends of the names of files, their manifests, and files that are not complete.
const (
	extFile     = ".parquet"
	extManifest = ".json"
	extPart     = ".part"
)

// Extension is how the names of files end.
const Extension = extFile

const prefix = "events-"

// fileName is the name of a version of a day: events-2026-02-05.v1.parquet.
func fileName(day time.Time, version int) string {
	return fmt.Sprintf("%s%d%s", dayPrefix(day), version, extFile)
}

// dayPrefix is how the names of a day begin.
func dayPrefix(day time.Time) string { return prefix + day.Format(time.DateOnly) + ".v" }

func manifestName(file string) string { return strings.TrimSuffix(file, extFile) + extManifest }

// maxVersion is the highest version of a day. A day is written again at most once a day for
// late events, so that only a made-up name is higher.
const maxVersion = 999_999_999

// parseName returns the day and the version of the name of a file or its manifest. Other
// names are not files of events, also those of a version that is out of range.
func parseName(name string) (day time.Time, version int, ok bool) {
	rest, found := strings.CutPrefix(name, prefix)
	if !found {
		return day, 0, false
	}
	rest, found = strings.CutSuffix(rest, extFile)
	if !found {
		if rest, found = strings.CutSuffix(rest, extManifest); !found {
			return day, 0, false
		}
	}
	written, number, found := strings.Cut(rest, ".v")
	day, err := time.Parse(time.DateOnly, written)
	version, wrong := strconv.Atoi(number)
	if wrong != nil || err != nil || !found || version < 1 || version > maxVersion || strconv.Itoa(version) != number {
		return day, 0, false
	}
	return day, version, true
}

// write adds an event to a file.
func write(w *parquet.Writer, e *store.Event) error {
	w.Text(columnCode, string(e.Code))
	w.Number(columnTS, e.TS.UnixMicro())
	w.UUID(columnID, e.ID)
	w.UUID(columnCorrelation, e.CorrelationID)
	w.Text(columnService, e.Service)
	w.Text(columnEndpoint, e.Endpoint)
	if e.HTTPStatus == 0 {
		w.Null(columnStatus)
	} else {
		w.Number(columnStatus, int64(e.HTTPStatus))
	}
	w.Text(columnProvider, e.ExternalService)
	w.Text(columnRegion, e.Region)
	w.Text(columnReported, string(e.ReportedCode))
	w.Text(columnTenant, e.TenantHash)
	w.Text(columnTenantKey, e.TenantKey)
	w.Text(columnDetails, string(store.EncodeDetails(e.Details)))
	return w.EndRow()
}

// rowGroup is the values of a row group.
type rowGroup [columnDetails + 1]parquet.Values

// maxDetails is how long the details of an event may be, as JSON. Those of the ledger have
// at most six values of 128 bytes.
const maxDetails = 16 << 10

// detailsFactor is how much more memory details take once they are decoded, at most.
const detailsFactor = 20

// size is about how much memory a row takes as an event.
func (g *rowGroup) size(i int) int {
	const fixed = 400
	size := fixed + detailsFactor*len(g[columnDetails].Texts[i])
	for c := range columnDetails {
		if texts := g[c].Texts; texts != nil {
			size += len(texts[i])
		}
	}
	return size
}

// event is a row of it, without its details, which may be damaged.
func (g *rowGroup) event(i int) (e recoup.StoredEvent, err error) {
	e.Code = recoup.Code(g[columnCode].Texts[i])
	e.TS = time.UnixMicro(g[columnTS].Numbers[i]).UTC()
	e.ID, e.CorrelationID = g[columnID].UUIDs[i], g[columnCorrelation].UUIDs[i]
	e.Service, e.Endpoint = g[columnService].Texts[i], g[columnEndpoint].Texts[i]
	e.HTTPStatus = int(g[columnStatus].Numbers[i])
	e.ExternalService, e.Region = g[columnProvider].Texts[i], g[columnRegion].Texts[i]
	e.ReportedCode = recoup.Code(g[columnReported].Texts[i])
	e.TenantHash, e.TenantKey = g[columnTenant].Texts[i], g[columnTenantKey].Texts[i]
	if details := g[columnDetails].Texts[i]; len(details) > maxDetails {
		return e, fmt.Errorf("%w: row %d has details of %d bytes, the limit is %d", ErrDamaged, i+1, len(details), maxDetails)
	} else if details != "" {
		e.Details, err = store.DecodeDetails([]byte(details))
	}
	return e, err
}
