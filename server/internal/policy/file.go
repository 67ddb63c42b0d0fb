package policy

import (
	"encoding/json"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// file is the policy file as it is written. Its keys are described in
// schema.json, which is what editors and [Load] check a file against.
type file struct {
	Version     amount                           `json:"version"`
	Effective   string                           `json:"effective"`
	Authority   string                           `json:"authority"`
	Tiers       map[string]fileTier              `json:"tiers"`
	Hubs        map[string]fileHub               `json:"hubs"`
	PlatformHub string                           `json:"platform_hub"`
	Tables      map[string]fileTable             `json:"tables"`
	OrphanTable string                           `json:"orphan_table"`
	DeadTables  map[string]string                `json:"dead_tables"`
	Codes       map[recoup.Code]fileCode         `json:"codes"`
	Archive     fileArchive                      `json:"archive"`
	Severities  map[recoup.Severity]fileSeverity `json:"severities"`
	Retry       fileRetry                        `json:"retry"`
	Parking     fileParking                      `json:"parking"`
	Escalation  fileEscalation                   `json:"escalation"`
	Leases      fileLeases                       `json:"leases"`
	Metrics     map[string]fileMetric            `json:"metrics"`
	Alerts      fileAlerts                       `json:"alerts"`
	Providers   map[string]fileProviders         `json:"providers"`
	Notices     fileNotifications                `json:"notifications"`
	Requests    fileRequests                     `json:"requests"`
	Stages      fileStages                       `json:"stages"`
	Ledger      fileLedger                       `json:"ledger"`
	Gate        fileGate                         `json:"gate"`
}

type fileTier struct {
	Lasts string `json:"lasts"` // a duration, or forever
	Use   string `json:"use"`
}

// forever is how a tier says that it never ends.
const forever = "forever"

type fileHub struct {
	Name      string        `json:"name"`
	Team      string        `json:"team"`
	Lead      string        `json:"lead"`
	Services  []string      `json:"services"`
	Pipelines []string      `json:"pipelines"`
	Overrides fileOverrides `json:"overrides"`
}

type fileOverrides struct {
	Tables     []string     `json:"tables"`
	MaxRetries int          `json:"max_retries"`
	TTL        string       `json:"ttl"`
	AutoPark   []fileFamily `json:"auto_park"`
}

type fileFamily struct {
	Family string            `json:"family"`
	Codes  []recoup.Code     `json:"codes"`
	After  int               `json:"after"`
	Reason recoup.ParkReason `json:"reason"`
}

type fileTable struct {
	Hub            string            `json:"hub"`
	Layer          Layer             `json:"layer"`
	Entity         string            `json:"entity"`
	EntityRequired *bool             `json:"entity_required"`
	TTL            string            `json:"ttl"`
	Default        recoup.Action     `json:"default"`
	Allowed        []recoup.Action   `json:"allowed"`
	ParkReason     recoup.ParkReason `json:"park_reason"`
	DeadLetters    bool              `json:"dead_letters"`
	Blocks         bool              `json:"blocks"`
	Because        string            `json:"because"`
	Archive        string            `json:"archive"`
	Retention      duration          `json:"retention"`
	Source         fileSource        `json:"source"`
}

type fileSource struct {
	Details     []string       `json:"details"`
	Encrypted   []string       `json:"encrypted"`
	AtEnd       wire.SourceEnd `json:"at_end"`
	DeadLetters bool           `json:"dead_letters"`
}

type fileCode struct {
	Class       recoup.Class     `json:"class"`
	Condition   recoup.Condition `json:"condition"`
	Proven      recoup.Class     `json:"proven"`
	Category    recoup.Category  `json:"category"`
	Severity    recoup.Severity  `json:"severity"`
	HTTPStatus  int              `json:"http_status"`
	Domain      string           `json:"domain"`
	Group       string           `json:"group"`
	Page        bool             `json:"page"`
	Description string           `json:"description"`
	Causes      []string         `json:"causes"`
	Resolution  []string         `json:"resolution"`
	Related     []recoup.Code    `json:"related"`
	Aliases     []recoup.Code    `json:"aliases"`
}

type fileArchive struct {
	Suffix    string   `json:"suffix"`
	Retention duration `json:"retention"`
}

type fileSeverity struct {
	Disposition recoup.Action     `json:"disposition"`
	Otherwise   recoup.Action     `json:"otherwise"`
	TTL         string            `json:"ttl"`
	ParkReason  recoup.ParkReason `json:"park_reason"`
}

type fileRetry struct {
	Categories map[recoup.Category]fileCategory `json:"categories"`
	Floors     map[recoup.Class]duration        `json:"floors"`
}

type fileCategory struct {
	MaxRetries int          `json:"max_retries"`
	Schedule   fileSchedule `json:"schedule"`
	Window     duration     `json:"window"`
}

type fileSchedule struct {
	Kind       retry.Kind   `json:"kind"`
	Base       duration     `json:"base"`
	Multiplier float64      `json:"multiplier"`
	Cap        duration     `json:"cap"`
	Jitter     retry.Jitter `json:"jitter"`
	Steps      []duration   `json:"steps"`
}

type fileParking struct {
	Reasons    map[recoup.ParkReason]string `json:"reasons"`
	Conditions []fileCondition              `json:"conditions"`
}

type fileCondition struct {
	Name   string            `json:"name"`
	Codes  []recoup.Code     `json:"codes"`
	Tables []string          `json:"tables"`
	Reason recoup.ParkReason `json:"reason"`
	Page   bool              `json:"page"`
}

type fileEscalation struct {
	Ladder       []fileRung `json:"ladder"`
	GlobalOwner  Role       `json:"global_owner"`
	ExpiryNotice duration   `json:"expiry_notice"`
}

type fileRung struct {
	Tier         int      `json:"tier"`
	Owner        Role     `json:"owner"`
	After        duration `json:"after"`
	ReviewWithin duration `json:"review_within"`
}

type fileLeases struct {
	Default     duration `json:"default"`
	Max         duration `json:"max"`
	ExpiryGrace duration `json:"expiry_grace"`
}

type fileMetric struct {
	Means     string `json:"means"`
	Threshold amount `json:"threshold"`
}

// amount is what YAML reads as a number or as text, by its form: a version, a number, a
// share in percent.
type amount string

func (a *amount) UnmarshalJSON(b []byte) error {
	*a = amount(strings.Trim(string(b), `"`))
	return nil
}

type fileAlerts struct {
	MinSamples int        `json:"min_samples"`
	Repeat     duration   `json:"repeat"`
	Rules      []fileRule `json:"rules"`
}

type fileRule struct {
	Name     string             `json:"name"`
	When     string             `json:"when"`
	Window   duration           `json:"window"`
	For      duration           `json:"for"`
	Repeat   duration           `json:"repeat"`
	Per      Scope              `json:"per"`
	Hub      string             `json:"hub"`
	Severity wire.AlertSeverity `json:"severity"`
	Action   wire.AlertAction   `json:"action"`
}

// fileProviders is a group of providers: a mapping, or only its members.
type fileProviders struct {
	Members   []string `json:"members"`
	BackAfter duration `json:"back_after"`
	Hub       string   `json:"hub"`
}

func (p *fileProviders) UnmarshalJSON(b []byte) error {
	if b[0] == '[' {
		return json.Unmarshal(b, &p.Members)
	}
	type mapping fileProviders // without this method
	return json.Unmarshal(b, (*mapping)(p))
}

type fileNotifications struct {
	Default []fileRoute                  `json:"default"`
	Teams   map[string][]fileRoute       `json:"teams"`
	Digests map[wire.NoticeKind]duration `json:"digests"`
}

type fileRoute struct {
	Channel string            `json:"channel"`
	From    Urgency           `json:"from"`
	Kinds   []wire.NoticeKind `json:"kinds"`
}

type fileRequests struct {
	Default fileRequest                 `json:"default"`
	Codes   map[recoup.Code]fileRequest `json:"codes"`
}

type fileRequest struct {
	MaxAttempts int      `json:"max_attempts"`
	Base        duration `json:"base"`
	Multiplier  float64  `json:"multiplier"`
	Cap         duration `json:"cap"`
}

type fileStages struct {
	MaxAttempts       int          `json:"max_attempts"`
	Schedule          fileSchedule `json:"schedule"`
	RetryAfterCeiling duration     `json:"retry_after_ceiling"`

	// How long is kept what is over; what is not said is as in the default policy.
	ReplayRetention     duration `json:"replay_retention"`
	CheckpointRetention duration `json:"checkpoint_retention"`
}

type fileLedger struct {
	Details         fileDetails `json:"details"`
	EventRetention  duration    `json:"event_retention"`
	RollupRetention duration    `json:"rollup_retention"`
}

type fileDetails struct {
	Keys          map[string]DetailType `json:"keys"`
	MaxValueBytes int                   `json:"max_value_bytes"`
	MaxBytes      int                   `json:"max_bytes"`
}

type fileGate struct {
	Waits          []duration        `json:"waits"`
	MaxAttempts    int               `json:"max_attempts"`
	RecoveryWindow duration          `json:"recovery_window"`
	Reasons        map[string]string `json:"reasons"`
}

// decode fills f from a document that the schema accepts, or whose refused
// values were cleared.
func (d *document) decode(f *file) error {
	b, err := json.Marshal(d.root)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, f)
}
