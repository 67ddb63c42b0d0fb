package define

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/adoption/preset"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Request is what a person asks for.
type Request struct {
	Source   string       // as written
	As       string       // the policy's table; empty: that of the same name
	Mapping  wire.Mapping // what is said of it; the rest is guessed
	NoMirror bool         // the source gets no columns
	Preset   string       // whose table it is; see package preset
	Path     []string     // the schemas in which names without one are looked up, in the source and in conditions

	// SchemaOwner is the owner of the schema recoup, if the user states it: see [pgsession.Owner].
	SchemaOwner string
}

// Plan is all that adopting a table would do.
type Plan struct {
	Source   string       `json:"source"`
	Table    Table        `json:"table"`
	Preset   string       `json:"preset,omitempty"`
	Key      []string     `json:"key"`
	Mapping  wire.Mapping `json:"mapping"`
	Guessed  []string     `json:"guessed"` // parts of the mapping that nobody has said
	Filled   []string     `json:"filled"`  // parts of the mapping that are the preset's
	Reading  []Reading    `json:"reading"` // how columns are read
	Zone     *Zone        `json:"time_zone,omitempty"`
	Rows     Count        `json:"rows"`
	Notes    []string     `json:"notes"`
	Refusals []Refusal    `json:"refusals"`
	Steps    []Step       `json:"steps"`
	Adopted  *Record      `json:"adopted,omitempty"` // what was begun before
	Moves    bool         `json:"moves,omitempty"`   // to another table of the policy

	Facts    *Source `json:"-"`
	adoption *Adoption
	rights   Rights
	logins   logins
	foreign  []Refusal // code of other roles that would run with the rights of the table's owner
}

// Refusal is why a table cannot be adopted as it is, and what to do about it.
type Refusal struct {
	Why string `json:"why"`
	Way string `json:"way"`
}

// err is the refusal as an error.
func (r Refusal) err() error { return fmt.Errorf("%s: %s: %w", r.Why, r.Way, ErrRefused) }

// Table is the policy's table, as the nodes have noted it.
type Table struct {
	Name           string             `json:"name"`
	Hub            string             `json:"hub"`
	EntityColumn   string             `json:"-"`
	Default        recoup.Disposition `json:"default"`
	TTL            time.Duration      `json:"-"`
	Blocks         bool               `json:"blocks"`
	EntityRequired bool               `json:"entity_required"`
	Policy         string             `json:"policy"` // its version
	Source         wire.SourceRules   `json:"source"`
}

// MakePlan reads a table and says what adopting it would do. It changes nothing. A
// plan with refusals cannot be applied.
func MakePlan(ctx context.Context, conn *pgx.Conn, request Request) (*Plan, error) {
	p := &Plan{Preset: request.Preset, Guessed: []string{}, Filled: []string{}, Notes: []string{}, Refusals: []Refusal{}, Steps: []Step{}, Key: []string{}}
	return p, planned(ctx, conn, func(tx pgx.Tx) (err error) {
		if p.Facts, err = ReadSource(ctx, tx, request.Path, request.Source); err != nil {
			return err
		}
		p.Source = p.Facts.Quoted()
		if p.rights, err = ReadRights(ctx, tx, p.Facts.Owner, request.SchemaOwner); err != nil {
			return err
		}
		if p.rights.err() == nil { // else the schema recoup is perhaps closed to this user
			if p.Adopted, err = p.readRecord(ctx, tx); err != nil {
				return err
			}
		}
		if err := p.readLogins(ctx, tx); err != nil {
			return err
		}
		if p.foreign, err = readForeign(ctx, tx, p.Facts.OID, false); err != nil {
			return err
		}
		if p.refuseKind(); len(p.Refusals) > 0 {
			return nil
		}
		return p.make(ctx, tx, request)
	})
}

func (p *Plan) readRecord(ctx context.Context, tx pgx.Tx) (*Record, error) {
	if err := actAs(ctx, tx, p.rights.SchemaOwner); err != nil {
		return nil, err
	}
	return ReadRecord(ctx, tx, p.Facts.OID)
}

func (p *Plan) make(ctx context.Context, tx pgx.Tx, request Request) error {
	name := cmp.Or(request.As, p.Facts.String())
	mapping := request.Mapping
	if p.Adopted != nil {
		p.refuseOther(request)
		name, mapping, p.Preset = cmp.Or(request.As, p.Adopted.Table), p.Adopted.Mapping, p.Adopted.Preset
		p.Moves = name != p.Adopted.Table
		p.forgetKey()
	}
	if err := p.readTable(ctx, tx, name); err != nil {
		return err
	}
	if err := p.refuseDeletes(ctx, tx); err != nil {
		return err
	}
	if p.Adopted == nil && request.Preset != "" {
		if p.refusePreset(); len(p.Refusals) > 0 {
			return nil
		}
		mapping = p.fill(mapping, request.NoMirror)
	} else if p.Adopted == nil {
		sample, err := readSample(ctx, tx.Conn(), p.Facts)
		if err != nil {
			return err
		}
		mapping = p.complete(sample, mapping, request.NoMirror)
	}
	if p.Adopted == nil {
		var err error
		if mapping, err = p.chooseZone(ctx, tx, request.Mapping.TimeZone, mapping); err != nil {
			return err
		}
	}
	queue, _ := preset.Named(p.Preset)
	conditions, err := readConditions(ctx, tx.Conn(), request.Path, p.Facts, mapping, queue)
	if err != nil {
		return err
	}
	p.adoption = &Adoption{Source: p.Facts, Mapping: mapping, Default: p.Table.Default, Conditions: conditions, Preset: queue, Rules: p.Table.Source}
	p.number()
	if p.Moves {
		p.adoption.MoveTo = p.Table.Name
	}
	p.Mapping, p.Steps = mapping, p.adoption.Steps(p.rights)
	for _, c := range p.adoption.key() {
		p.Key = append(p.Key, c.Name)
	}
	p.refuseRules()
	if p.Adopted == nil {
		p.refuseMapping()
		p.note()
		p.Reading = p.adoption.reading()
		if err := p.sampleTimes(ctx, tx.Conn()); err != nil {
			return err
		}
		err = p.count(ctx, tx.Conn())
	}
	return err
}

// complete guesses what nobody has said, and names the columns that are added.
func (p *Plan) complete(sample Sample, said wire.Mapping, noMirror bool) wire.Mapping {
	m := Guess(p.Facts, sample, said, p.Table.EntityColumn)
	for _, part := range []struct{ name, said, now string }{
		{"entity", said.Entity, m.Entity},
		{"code", cmp.Or(said.Code, said.CodeValue), m.Code},
		{"message", said.Message, m.Message},
		{"severity", said.Severity, m.Severity},
		{"created_at", said.CreatedAt, m.CreatedAt},
		{"last_seen", said.LastSeen, m.LastSeen},
	} {
		if part.said == "" && part.now != "" {
			p.Guessed = append(p.Guessed, part.name)
		}
	}
	return p.mirrored(m, noMirror)
}

// mirrored names the columns that are added, if any are.
func (p *Plan) mirrored(m wire.Mapping, noMirror bool) wire.Mapping {
	m.Disposition, m.ArchivedAt = "", ""
	if !noMirror {
		m.Disposition, m.ArchivedAt = p.Facts.free("disposition"), p.Facts.free("archived_at")
	}
	return m
}

// free is a name for a new column: this one, or one that shows whose it is.
func (s *Source) free(name string) string {
	for _, taken := s.Column(name); taken; _, taken = s.Column(name) {
		name = "recoup_" + name
	}
	return name
}

// number sets the number and the login of an adoption that was begun, or of the next. A restored or
// copied database names a role that belongs to the database which it is a copy of: see
// [Plan.replaceRole].
func (p *Plan) number() {
	if p.Adopted != nil {
		p.adoption.done, p.adoption.agreed = p.Adopted.Steps, p.Adopted.Agreed
	}
	p.adoption.ID, p.adoption.Role = p.logins.number, p.chooseLogin()
	if p.Adopted != nil && p.logins.noted != p.logins.role {
		p.adoption.former = p.logins.noted
	}
}

// forgetKey lets a source whose key is of our making be one that has none, so that its
// steps are those it was begun with.
func (p *Plan) forgetKey() {
	if slices.Equal(p.Adopted.Key, []string{KeyColumn}) && slices.Contains(p.Adopted.Steps, stepKeyColumn) || len(p.Facts.Key) == 0 {
		p.Facts.Key = nil
		return
	}
	p.Facts.Key = nil
	for _, name := range p.Adopted.Key {
		if c, ok := p.Facts.Column(name); ok {
			p.Facts.Key = append(p.Facts.Key, c)
		}
	}
}

const findTable = `select table_name, hub, entity_column, default_disposition, coalesce(extract(epoch from ttl), 0)::float8, blocks, entity_required, policy_version,
  coalesce(source_rules, '{}'), dead_letter, coalesce((select a.source from recoup.adoption a where a.table_name = t.table_name and recoup.adopted_source(a.adoption_id) is distinct from $2), '')
from recoup.error_table t where table_name = $1 and not retired`

func (p *Plan) readTable(ctx context.Context, tx pgx.Tx, name string) error {
	if err := actAs(ctx, tx, p.rights.SchemaOwner); err != nil {
		return err
	}
	t := &p.Table
	var seconds float64
	var deadLetters bool
	var other string
	err := tx.QueryRow(ctx, findTable, name, p.Facts.OID).Scan(&t.Name, &t.Hub, &t.EntityColumn, &t.Default, &seconds, &t.Blocks, &t.EntityRequired, &t.Policy, &t.Source, &deadLetters, &other)
	t.TTL = time.Duration(seconds * float64(time.Second))
	if !errors.Is(err, pgx.ErrNoRows) {
		p.refuseTable(deadLetters, other)
		return err
	}
	var hubs []string
	err = tx.QueryRow(ctx, "select coalesce(array_agg(distinct hub order by hub), '{}') from recoup.error_table where not retired").Scan(&hubs)
	if err != nil {
		return err
	}
	*t = Table{Name: name, Default: recoup.DispositionRetry, Blocks: true}
	p.Refusals = append(p.Refusals, Refusal{
		Why: fmt.Sprintf("the policy in force has no table %s", name),
		Way: fmt.Sprintf(`add it under tables: and run 'recoup policy apply FILE --reason TEXT', or name another with --as TABLE
  %s:
    hub: %s
    entity: ENTITY
    ttl: MEDIUM
    default: RETRY
    allowed: [RETRY, PARK, ARCHIVE]
    blocks: true
    because: why its failures hold an entity back`, name, cmp.Or(strings.Join(hubs, " | "), "HUB")),
	})
	return nil
}

// planned gives do a transaction that is rolled back, and in which no name is looked up in schemas of
// others. It does not wait long for locks: every role can lock its own tables.
func planned(ctx context.Context, conn *pgx.Conn, do func(pgx.Tx) error) error {
	return discarded(ctx, conn, func(tx pgx.Tx) error {
		if err := begin(ctx, tx, planLock, planTime); err != nil {
			return err
		}
		err := do(tx)
		if said, ok := errors.AsType[*pgconn.PgError](err); ok && said.Code == lockNotAvailable {
			return fmt.Errorf("the table, or one of Recoup's, is locked by another session: repeat the command later: %w", err)
		}
		return err
	})
}

// How long a statement of a plan waits for a lock, and how long it runs.
const (
	planLock = 2 * time.Second
	planTime = 30 * time.Second
)

// discarded gives do a transaction that is rolled back.
func discarded(ctx context.Context, conn *pgx.Conn, do func(pgx.Tx) error) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return errors.Join(do(tx), tx.Rollback(context.WithoutCancel(ctx)))
}
