package define

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/adoption/preset"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Zone is the time zone in which a source's times without one are read, and how it was chosen.
type Zone struct {
	Name    string       `json:"name"`
	Origin  string       `json:"origin"`
	Samples []TimeSample `json:"samples"`
}

// TimeSample is a time of a source, and the instant that it is read as.
type TimeSample struct {
	Value string `json:"value"`
	UTC   string `json:"utc"` // empty: it cannot be read
}

// zone is the time zone in which times without one are read.
func (a *Adoption) zone() string { return cmp.Or(a.Mapping.TimeZone, "UTC") }

// needsZone reports whether times of the mapping can lack a time zone.
func (s *Source) needsZone(m wire.Mapping) bool {
	c, ok := s.field(m.CreatedAt)
	return ok && m.CreatedAt != "" && c.Base != typeInstant && c.Category != "N"
}

// chooseZone completes the time zone of a mapping: what was asked for, the preset's, or the setting
// TimeZone that sessions of the source's owner begin with.
func (p *Plan) chooseZone(ctx context.Context, tx pgx.Tx, asked string, m wire.Mapping) (wire.Mapping, error) {
	if !p.Facts.needsZone(m) {
		if asked != "" {
			p.Refusals = append(p.Refusals, Refusal{"--time-zone " + asked + ": no column of the mapping has times without a time zone", "leave the flag out"})
		}
		m.TimeZone = ""
		return m, nil
	}
	p.Zone = &Zone{Name: m.TimeZone, Origin: "--time-zone", Samples: []TimeSample{}}
	var err error
	switch queue, _ := preset.Named(p.Preset); {
	case asked != "":
	case m.TimeZone != "":
		p.Zone.Origin = queue.Of + " writes it"
	default:
		if p.Zone.Name, p.Zone.Origin, err = readZone(ctx, tx, p.Facts.Owner); err != nil {
			return m, err
		}
	}
	known, err := findZone(ctx, tx, p.Zone.Name)
	if err != nil {
		return m, err
	}
	if known == "" {
		p.Refusals = append(p.Refusals, Refusal{
			fmt.Sprintf("times in %s have no time zone, and %q (%s) is not the name of one", m.CreatedAt, p.Zone.Name, p.Zone.Origin),
			"say in which zone they are written with --time-zone NAME, such as UTC or Europe/Berlin (select name from pg_timezone_names)",
		})
		known = "UTC"
	}
	p.Zone.Name, m.TimeZone = known, known
	return m, nil
}

// machineZones are names of time zones that mean another one on another server.
var machineZones = []string{"localtime", "posixrules", "Factory"}

// findZone returns the name of a time zone as the server writes it; empty: it knows none of that name.
func findZone(ctx context.Context, tx pgx.Tx, name string) (known string, err error) {
	err = tx.QueryRow(ctx, `select name from pg_catalog.pg_timezone_names where lower(name collate "C") = lower($1::text collate "C") and name <> all ($2) order by name collate "C" limit 1`,
		name, machineZones).Scan(&known)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return known, err
}

// findZoneSetting finds the setting TimeZone of a role ($1) in this database, in the order in which
// sessions begin with it.
const findZoneSetting = `
select substr(c, strpos(c, '=') + 1), concat_ws(' ', 'setting TimeZone', case when s.setrole <> 0 then 'of the role ' || r.rolname end,
    case when s.setdatabase <> 0 then 'of this database' when s.setrole = 0 then 'of all roles' end)
from pg_db_role_setting s cross join unnest(s.setconfig) c left join pg_roles r on r.oid = s.setrole left join pg_database d on d.oid = s.setdatabase
where (s.setrole = 0 or r.rolname = $1) and (s.setdatabase = 0 or d.datname = current_database()) and lower(split_part(c, '=', 1) collate "C") = 'timezone'
order by s.setrole <> 0 desc, s.setdatabase <> 0 desc limit 1`

// readZone returns the setting TimeZone that sessions of a role begin with, and where it is set.
func readZone(ctx context.Context, tx pgx.Tx, owner string) (zone, origin string, err error) {
	err = tx.QueryRow(ctx, findZoneSetting, owner).Scan(&zone, &origin)
	if !errors.Is(err, pgx.ErrNoRows) {
		return zone, origin, err
	}
	config := tx.Conn().Config()
	for name := range config.RuntimeParams {
		if strings.EqualFold(name, "timezone") {
			delete(config.RuntimeParams, name)
		}
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = conn.QueryRow(ctx, "select setting, source from pg_catalog.pg_show_all_settings() where name = 'TimeZone'").Scan(&zone, &origin)
	if own := []string{"user", "database user", "client", "session"}; err == nil && slices.Contains(own, origin) {
		return "", "the setting of the server is hidden by that of the user " + config.User, nil
	}
	return zone, "setting TimeZone of the server", err
}

// sampleTimes reads the first times of the source, and what they are read as.
func (p *Plan) sampleTimes(ctx context.Context, conn *pgx.Conn) error {
	a := p.adoption
	c, ok := a.mapped(a.Mapping.CreatedAt)
	if p.Zone == nil || !ok {
		return nil
	}
	at, before := a.plannedTime()
	var found struct {
		Samples []TimeSample `json:"samples"`
	}
	query := fmt.Sprintf(`select coalesce(jsonb_agg(jsonb_build_object('value', left(r.raw, 60), 'utc', coalesce(to_char(r.at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS'), ''))), '[]') as samples
    from (select %s as raw, %s as at from %s s where %s and %s is not null limit 3) r`, textual("s", c), at, a.Source.Quoted(), a.Source.here("s"), c.in("s"))
	if err := asOwner(ctx, conn, a.Source, selected(query), &found, before...); err != nil {
		return fmt.Errorf("look at the times of %s: %w", a.Source, err)
	}
	p.Zone.Samples = append(p.Zone.Samples, found.Samples...)
	return nil
}

// plannedTime is the expression of a row's time before the function exists that it can call, and
// the statements that create another one, which goes with the transaction.
func (a *Adoption) plannedTime() (at string, before []string) {
	if at = a.createdAt(); !a.readsTimes() {
		return at, nil
	}
	name, other := "recoup."+a.name("time"), "pg_temp.recoup_time"
	return strings.Replace(at, name, other, 1), []string{strings.Replace(a.time().Text, name, other, 1)}
}
