package define

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/adoption/preset"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// refuseKind says why a relation cannot be adopted at all.
func (p *Plan) refuseKind() {
	s := p.Facts
	refuse := func(why, way string) { p.Refusals = append(p.Refusals, Refusal{why, way}) }
	switch {
	case s.Kind == "v" || s.Kind == "m":
		way := "adopt the table behind it"
		if queue, ok := preset.Named(p.Preset); ok {
			way += ", usually " + queue.Usual
		}
		refuse(s.String()+" is a view: it has no rows of its own, and no statement triggers with their rows", way)
	case s.Kind == "f":
		refuse(s.String()+" is a foreign table: its writers are on another server, where no trigger of ours runs", "adopt it there")
	case s.Schema == "recoup" || s.Schema == "cl" || strings.HasPrefix(s.Schema, "pg_") || s.Schema == "information_schema":
		refuse(s.String()+" belongs to Recoup or to the database", "adopt a table of your own")
	case s.PartitionOf != "":
		refuse(s.String()+" is a partition of "+s.PartitionOf, "adopt "+s.PartitionOf)
	case s.Inherits:
		refuse(s.String()+" has parents or children by inheritance: a key does not tell their rows apart", "adopt each child after ALTER TABLE … NO INHERIT")
	case s.OfType:
		refuse(s.String()+" is a typed table: no column can be added to it", "make it an ordinary one with ALTER TABLE … NOT OF")
	case s.Persistence == "t":
		refuse(s.String()+" is a temporary table", "adopt a table that stays")
	case len(s.Rules) > 0:
		refuse(fmt.Sprintf("%s has rewrite rules (%s): what they make of a statement, no trigger sees", s, strings.Join(s.Rules, ", ")), "replace them by triggers")
	case s.Kind == "p" && len(s.Key) == 0:
		refuse(s.String()+" is partitioned and has no key: none can be built beside its writers", "give it a primary key first, of types of PostgreSQL itself")
	case p.Adopted != nil && p.Adopted.Owner != s.Owner:
		refuse(fmt.Sprintf("%s belongs to %s and was adopted as a table of %s, whose rights the functions of its adoption have", s, s.Owner, p.Adopted.Owner),
			fmt.Sprintf("run recoup adopt release %s, then adopt it again", quote(s.Schema, s.Name)))
	case !p.rights.MayActAs:
		p.Refusals = append(p.Refusals, p.rights.refuse())
		if p.logins.role != "" && p.lacksRole() {
			p.Refusals = append(p.Refusals, p.refuseRole())
		}
	case p.Adopted == nil && p.lacksRole():
		p.Refusals = append(p.Refusals, p.refuseRole())
	case !s.OwnerUses:
		refuse(fmt.Sprintf("%s owns %s and may not use the schema %s: its functions would not reach the table", s.Owner, s, s.Schema),
			fmt.Sprintf("run GRANT USAGE ON SCHEMA %s TO %s as %s", quote(s.Schema), quote(s.Owner), s.SchemaOwner))
	case p.Adopted != nil && p.Adopted.State == wire.AdoptionReleasing:
		refuse(s.String()+" is being released, and its open errors are not ended yet", "run recoup adopt release again while a node runs, then adopt it")
	}
	p.refuseOthers()
	if s.Forced && !s.OwnerSees {
		refuse(fmt.Sprintf("row security is forced on %s: even the functions of its owner would not see every row", s),
			fmt.Sprintf("ALTER TABLE %[1]s NO FORCE ROW LEVEL SECURITY, or CREATE POLICY recoup ON %[1]s TO %[2]s USING (true)", s.Quoted(), quote(s.Owner)))
	}
}

// refuseOthers says which partitions are on other servers, and which code of other roles would run with the rights
// of the table's owner.
func (p *Plan) refuseOthers() {
	s := p.Facts
	refuse := func(why, way string) { p.Refusals = append(p.Refusals, Refusal{why, way}) }
	for _, part := range s.Partitions {
		if part.Foreign {
			refuse(part.Schema+"."+part.Name+" is a foreign table: what is written there, no trigger sees", "detach that partition")
		}
		if part.Owner != "" {
			refuse(fmt.Sprintf("%s.%s belongs to %s, whose code would run with the rights of %s", part.Schema, part.Name, part.Owner, s.Owner),
				fmt.Sprintf("run ALTER TABLE %s OWNER TO %s", part.Quoted(), quote(s.Owner)))
		}
	}
	p.Refusals = append(p.Refusals, p.foreign...)
}

// refuseDeletes says which code of other roles would run with the rights of the table's owner when rows are deleted, if
// the policy has them deleted, or had when the table was adopted.
func (p *Plan) refuseDeletes(ctx context.Context, tx pgx.Tx) error {
	if !p.Table.Source.Removes() && (p.Adopted == nil || !p.Adopted.Agreed.Removes()) {
		return nil
	}
	foreign, err := readForeign(ctx, tx, p.Facts.OID, true)
	p.Refusals = append(p.Refusals, foreign...)
	return err
}

// refuseTable says why a table of the policy cannot govern the source.
func (p *Plan) refuseTable(deadLetters bool, other string) {
	const way = "name another table of the policy with --as TABLE"
	if deadLetters {
		p.Refusals = append(p.Refusals, Refusal{"dead letters in " + p.Table.Name + " carry work, which rows do not have", way})
	}
	if other != "" {
		p.Refusals = append(p.Refusals, Refusal{fmt.Sprintf("%s governs %s already", p.Table.Name, other), way})
	}
}

// refuseOther says that what is asked for is not how the table was adopted.
func (p *Plan) refuseOther(request Request) {
	now, asked := p.Adopted.Mapping, request.Mapping
	if strings.EqualFold(asked.TimeZone, now.TimeZone) {
		asked.TimeZone = now.TimeZone
	}
	for _, part := range []struct{ flag, asked, now string }{
		{"preset", request.Preset, p.Adopted.Preset},
		{"entity", asked.Entity, now.Entity},
		{"code", asked.Code, now.Code},
		{"code", asked.CodeValue, now.CodeValue},
		{"message", asked.Message, now.Message},
		{"severity", asked.Severity, now.Severity},
		{"created-at", asked.CreatedAt, now.CreatedAt},
		{"time-zone", asked.TimeZone, now.TimeZone},
		{"last-seen", asked.LastSeen, now.LastSeen},
		{"governed-when", asked.GovernedWhen, now.GovernedWhen},
		{"resolved-when", asked.ResolvedWhen, now.ResolvedWhen},
	} {
		if part.asked != "" && part.asked != part.now {
			p.Refusals = append(p.Refusals, Refusal{fmt.Sprintf("--%s %s: %s was adopted with %q", part.flag, part.asked, p.Source, part.now), "run recoup adopt release first, or leave the flag out"})
		}
	}
}

// refuseMapping says what is wrong with the mapping.
func (p *Plan) refuseMapping() {
	m := p.adoption.Mapping
	for _, part := range []struct{ flag, column string }{
		{"entity", m.Entity},
		{"code", m.Code},
		{"message", m.Message},
		{"severity", m.Severity},
		{"created-at", m.CreatedAt},
		{"last-seen", m.LastSeen},
	} {
		if _, ok := p.Facts.field(part.column); part.column != "" && !ok {
			p.Refusals = append(p.Refusals, Refusal{
				fmt.Sprintf("--%s %s: %s has no such column, nor JSON there", part.flag, part.column, p.Source),
				"its columns are " + p.columns() + "; of one with JSON, say COLUMN->>'KEY'",
			})
		}
	}
	if m.Entity == "" {
		p.Refusals = append(p.Refusals, Refusal{"no column names the entity for sure", "say which one with --entity COLUMN; the columns are " + p.columns()})
	}
}

func (p *Plan) columns() string {
	var names []string
	for _, c := range p.Facts.Columns {
		names = append(names, c.Name)
	}
	return strings.Join(names, ", ")
}

// note says what the owner should know.
func (p *Plan) note() {
	s := p.Facts
	notef := func(format string, args ...any) { p.Notes = append(p.Notes, fmt.Sprintf(format, args...)) }
	if len(s.Key) == 0 {
		notef("It has no key: neither a primary key nor a unique index over columns that are never null (an index on one array, a type of an extension such as citext, or a composite type or a domain over an enum does not count). It gets a column %s, which rewrites every row once.", KeyColumn)
	}
	p.noteMirror()
	if len(s.Referrers) > 0 && !p.Table.Source.Removes() {
		notef("Foreign keys point to it (%s). They stay as they are: rows are neither deleted nor do their keys change.", strings.Join(s.Referrers, ", "))
	}
	p.noteRules()
	p.noteLogin()
	if s.RowSecurity && !s.Forced {
		notef("Row security is on. It does not hold the owner, whose functions read every row; nodes have no right to the table itself.")
	}
	if n := len(s.Partitions); n > 0 {
		notef("It has %d partitions, which get the triggers too. Nodes add triggers to partitions that are created or attached later, and read their rows, within a minute. recoup adopt %s --apply does so at once.", n, s)
	}
	if p.rights.User != s.Owner || p.rights.User != p.rights.SchemaOwner {
		notef("It runs as %s, who acts as %s (the table's owner) and as %s (the owner of the schema recoup).", p.rights.User, s.Owner, p.rights.SchemaOwner)
	}
	if s.OwnerSuper {
		notef("Its owner %s is a superuser, and so the functions act with all rights. An owner without would be safer.", s.Owner)
	}
	if s.Persistence == "u" {
		notef("It is unlogged: after a crash of the database it is empty, and no trigger says so.")
	}
	if s.Subscribed {
		notef("It is in a subscription. A row trigger notes the rows that arrive by it, one by one. Other writers do not fire that trigger.")
	}
	p.noteQueue()
	if !p.Table.Blocks {
		notef("The policy's table %s does not block: its entities are promoted all the same.", p.Table.Name)
	}
}

// noteMirror says what follows from the columns that Recoup writes.
func (p *Plan) noteMirror() {
	if !p.adoption.mirrors() {
		return
	}
	s, m := p.Facts, p.adoption.Mapping
	notef := func(format string, args ...any) { p.Notes = append(p.Notes, fmt.Sprintf(format, args...)) }
	for _, name := range []string{"disposition", "archived_at"} {
		if c, taken := s.Column(name); taken {
			notef("It has a column %s (%s) already, which stays yours: Recoup writes %s. SQL that asks whether an entity is blocked should read that one.", name, c.Type, s.free(name))
		}
	}
	notef("COPY %s FROM without a list of columns fails once it has new columns: name the columns, or use --no-mirror.", s)
	if len(s.Published) > 0 {
		notef("It is published (%s): add the new columns to its subscribers first, or replication stops there. With --no-mirror there are none.", strings.Join(s.Published, ", "))
	}
	if len(s.Triggerers) > 0 {
		notef("%s may create triggers on it, which run with the rights of %s when Recoup writes it.", strings.Join(s.Triggerers, ", "), s.Owner)
	}
	if len(s.Triggers) > 0 {
		notef("Its own triggers run when Recoup writes %s and %s: %s.", m.Disposition, m.ArchivedAt, strings.Join(s.Triggers, ", "))
	}
}
