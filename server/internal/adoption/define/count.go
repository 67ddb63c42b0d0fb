package define

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Up to countAll rows in countPages pages a plan counts every row; of a larger table it
// looks at about samplePages pages, and says "about".
const (
	countAll    = 100_000
	countPages  = 10_000
	samplePages = 2_000
)

// Count is how many rows are what.
type Count struct {
	Exact    bool  `json:"exact"`
	Rows     int64 `json:"rows"`
	Governed int64 `json:"governed"`
	NoEntity int64 `json:"no_entity"` // governed, with nobody to block
	Expired  int64 `json:"expired"`   // governed, and older than the policy keeps errors
	NoTime   int64 `json:"no_time"`   // with a time that cannot be read
}

// count counts the rows. Where a condition fails on one of them, it counts as if there
// were none, and says so: such a row keeps nobody from adopting the others.
func (p *Plan) count(ctx context.Context, conn *pgx.Conn) error {
	a := *p.adoption
	var err error
	p.Rows, err = a.count(ctx, conn, p.Table.TTL)
	said, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || a.governed() == everyRow {
		return err
	}
	a.Conditions = Conditions{}
	p.Rows, err = a.count(ctx, conn, p.Table.TTL)
	p.Notes = append(p.Notes, fmt.Sprintf("A condition fails on rows that it has (%s), so governed rows were counted without it. Such a row becomes an orphan that says so, and is looked at again when it changes.", said.Message))
	return err
}

// count counts rows, of large tables by a sample of their pages.
func (a *Adoption) count(ctx context.Context, conn *pgx.Conn, ttl time.Duration) (c Count, err error) {
	from, scale := a.Source.Quoted()+" s", 1.0
	c.Exact = a.Source.Rows < countAll && a.Source.Pages < countPages
	if percent := min(100, 100*samplePages/float64(max(a.Source.Pages, 1))); !c.Exact {
		from, scale = fmt.Sprintf("%s s tablesample system (%f)", a.Source.Quoted(), percent), 100/percent
	}
	at, before := a.plannedTime()
	had := "false"
	if c, ok := a.mapped(a.Mapping.CreatedAt); ok {
		had = c.in("s") + " is not null"
	}
	query := fmt.Sprintf(`select count(*) as rows, count(*) filter (where r.governed) as governed, count(*) filter (where r.governed and r.entity is null) as no_entity,
      count(*) filter (where r.governed and r.at < now() - %[6]f * interval '1 second' and %[6]f > 0) as expired, count(*) filter (where r.had and r.at is null) as no_time
    from (select %[1]s as governed, %[2]s as entity, %[3]s as at, %[4]s as had from %[5]s where %[7]s) r`, a.governed(), a.entity("s"), at, had, from, ttl.Seconds(), a.Source.here("s"))
	if err := asOwner(ctx, conn, a.Source, selected(query), &c, before...); err != nil {
		return c, fmt.Errorf("count the rows of %s: %w", a.Source, err)
	}
	for _, n := range []*int64{&c.Rows, &c.Governed, &c.NoEntity, &c.Expired, &c.NoTime} {
		*n = int64(float64(*n) * scale)
	}
	return c, nil
}

// Reading is how a column becomes a part of an error.
type Reading struct {
	Part       string `json:"part"`
	Column     string `json:"column,omitempty"`
	Type       string `json:"type,omitempty"`
	Expression string `json:"expression"`
	Remark     string `json:"remark,omitempty"`
}

// reading says how every part is read.
func (a *Adoption) reading() []Reading {
	list := []Reading{
		{Part: "entity", Column: a.Mapping.Entity, Expression: a.entity("s")},
		{Part: "code", Column: a.Mapping.Code, Expression: a.code()},
		{Part: "message", Column: a.Mapping.Message, Expression: a.message()},
		{Part: "severity", Column: a.Mapping.Severity, Expression: a.severity()},
		{Part: "created_at", Column: a.Mapping.CreatedAt, Expression: a.createdAt()},
	}
	if a.Mapping.LastSeen != "" {
		list = append(list, Reading{Part: "last_seen", Column: a.Mapping.LastSeen, Expression: a.lastSeen()})
	}
	for i := range list {
		c, ok := a.mapped(list[i].Column)
		list[i].Type = c.Type
		list[i].Remark = a.remark(list[i].Part, c, ok)
	}
	return list
}

// remark is what becomes of values that are not what they should be.
func (a *Adoption) remark(part string, c Column, ok bool) string {
	switch {
	case part == "code" && !ok:
		return "every row is " + a.Mapping.CodeValue
	case part == "code" && c.Category == "N":
		return "42 becomes CODE_42; empty: " + a.Mapping.CodeValue
	case part == "code":
		return "in capitals, with _ for what is no letter or digit; empty: " + a.Mapping.CodeValue
	case part == "severity" && !ok:
		return "the code's"
	case part == "severity" && c.Category == "N":
		return "numbers mean nothing here: the code's"
	case part == "severity":
		return "fatal, error, warning, info … are understood; else the code's"
	case part == "created_at" && !ok:
		return "when Recoup first sees the row"
	case part == "created_at" && c.Base == typeInstant:
		return ""
	case part == "created_at" && (c.Base == typeTimestamp || c.Base == typeDate):
		return "read as " + a.zone()
	case part == "created_at" && c.Category == "N":
		return "seconds, milliseconds or microseconds since 1970, by size"
	case part == "created_at":
		return "without an offset: read as " + a.zone() + "; what is no time: when Recoup first sees the row"
	}
	return ""
}
