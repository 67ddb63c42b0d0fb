package define

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Step is a part of an adoption's definition: a transaction of its own that is done
// wholly or not at all, and noted in the adoption when it is.
type Step struct {
	Name string   `json:"name"`
	Does string   `json:"does"`           // for people
	Lock string   `json:"lock,omitempty"` // on what, and whom it keeps out
	SQL  []string `json:"sql"`

	// Again is for what is done however often it was.
	Again bool `json:"-"`

	// Alone is for what cannot be in a transaction, or is many.
	Alone Alone `json:"-"`
}

// Alone is how a step runs that is no transaction.
type Alone string

// The steps that are none.
const (
	aloneFill  Alone = "fill"  // batches, until no row is left
	aloneIndex Alone = "index" // built concurrently
	aloneRole  Alone = "role"  // with a password that is not printed
)

// The names of steps, as an adoption notes them. Triggers are noted by table.
const (
	stepRights    = "rights"
	stepRole      = "role"
	stepKeyColumn = "key column"
	stepKeyFill   = "key values"
	stepKeyIndex  = "key index"
	stepColumns   = "columns"
	stepFunctions = "functions"
	stepAgree     = "source rules"
	stepWatch     = "watch"
	stepTriggers  = "triggers"
	stepBackfill  = "backfill"
)

// Rights are what matters about who owns what.
type Rights struct {
	User        string // who runs it
	SchemaOwner string // of the schema recoup
	MayActAs    bool   // the user can act as both owners
	MissingRole string // the owner that the user cannot act as
	HasUsage    bool   // the source's owner may use the schema recoup, and note changes
	HasCreate   bool   // and make functions there
	CreatesRole bool   // the user can create roles
	OneRole     bool   // the role of nodes does not exist: they connect as the owner of the schema

	// Untrusted says why the user must not run what is in the schema recoup; nil: the user trusts
	// its owner.
	Untrusted *pgsession.OwnerError
}

// Steps are all that an adoption does, in order.
func (a *Adoption) Steps(r Rights) []Step {
	var steps []Step
	if !r.HasUsage {
		steps = append(steps, a.stepRights(r))
	}
	if a.Role == "" {
		steps = append(steps, a.stepOwnLogin(r))
	} else {
		steps = append(steps, a.stepRole(r))
	}
	if len(a.Source.Key) == 0 {
		steps = append(steps, a.stepsKey(r)...)
	}
	if a.mirrors() {
		steps = append(steps, a.stepColumns(r))
	}
	steps = append(steps, a.stepFunctions(r))
	if slices.Contains(a.done, stepFunctions) && !sameRules(a.Rules, a.agreed) {
		steps = append(steps, a.stepAgree(r))
	}
	steps = append(steps, Step{
		Name: stepWatch, Does: "has errors that move noted, so that their source rows are updated",
		Lock: "recoup.error and recoup.error_archive: SHARE ROW EXCLUSIVE, if this is the first adoption",
		SQL:  as(r.SchemaOwner, r, "select recoup.watch_errors()"),
	}, a.stepTriggers(a.Source.Quoted(), r))
	for _, p := range a.Source.Partitions {
		if sql := a.triggers(p.Quoted(), p.Triggers...); len(sql) > 0 || slices.Contains(a.done, stepTriggers+" "+p.Quoted()) {
			steps = append(steps, a.stepPartition(p, sql, r))
		}
	}
	steps = append(steps, Step{
		Name: stepBackfill, Does: "lets nodes read the rows that are there, in batches",
		SQL: as(r.SchemaOwner, r, fmt.Sprintf("update recoup.adoption set state = '%s' where adoption_id = %d and state = '%s'",
			wire.AdoptionBackfilling, a.ID, wire.AdoptionAdopting)),
	})
	if a.MoveTo != "" {
		steps = append(steps, a.stepMove(r))
	}
	for _, s := range steps {
		for i, sql := range s.SQL {
			s.SQL[i] = fold(sql)
		}
	}
	return steps
}

// leaveRole ends acting as a role. RESET ROLE would restore the role that the database sets.
const leaveRole = "set local role none"

// as has statements run by a role.
func as(role string, r Rights, statements ...string) []string {
	if role == r.User {
		return statements
	}
	return append(append([]string{"set local role " + quote(role)}, statements...), leaveRole)
}

func (a *Adoption) stepRights(r Rights) Step {
	owner := quote(a.Source.Owner)
	return Step{
		Name: stepRights, Does: fmt.Sprintf("lets %s, who owns the table, note which rows changed", a.Source.Owner),
		SQL: as(r.SchemaOwner, r, "grant usage on schema recoup to "+owner,
			"grant insert ("+changeColumns+") on recoup.adopted_change to "+owner),
	}
}

func (a *Adoption) stepsKey(r Rights) []Step {
	table, column := a.Source.Quoted(), quote(KeyColumn)
	return []Step{
		{
			Name: stepKeyColumn, Does: "adds a column that tells rows apart; new rows get a value at once",
			Lock: a.Source.String() + ": ACCESS EXCLUSIVE, for a moment",
			SQL: append(as(a.Source.Owner, r, fmt.Sprintf("alter table %s add column %s uuid", table, column),
				fmt.Sprintf("alter table %s alter column %s set default gen_random_uuid()", table, column)), a.asOwnerInSchema(r, a.defineAll(append(a.binding(), a.fill())))...),
		},
		{
			Name: stepKeyFill, Does: "gives the rows that are there a value, a few hundred pages at a time, as " + cmp.Or(a.Role, r.SchemaOwner), Alone: aloneFill,
			Lock: "the rows of a batch, for the time of the batch; every row is written once",
			SQL:  []string{"select recoup." + a.name("fill") + "($1, $2)"},
		},
		{
			Name: stepKeyIndex, Does: "builds its unique index beside the writers", Alone: aloneIndex,
			Lock: a.Source.String() + ": SHARE UPDATE EXCLUSIVE; keeps out neither readers nor writers",
			SQL:  []string{fmt.Sprintf("create unique index concurrently %s on %s (%s)", quote(a.keyIndex()), table, column)},
		},
	}
}

// keyIndex is the name of the index that a source without a key gets.
func (a *Adoption) keyIndex() string { return fmt.Sprintf("recoup_%d_key", a.ID) }

func (a *Adoption) stepColumns(r Rights) Step {
	table := a.Source.Quoted()
	which := a.Source.String()
	if n := len(a.Source.Partitions); n > 0 {
		which += fmt.Sprintf(" and its %d partitions", n)
	}
	disposition, archived := quote(a.Mapping.Disposition), quote(a.Mapping.ArchivedAt)
	sql := []string{fmt.Sprintf("alter table %s add column %s text default %s, add column %s timestamptz", table, disposition, literal(string(a.Default)), archived)}
	// Where a condition says which rows are failures, those that are there say nothing
	// before a node has looked at them; and new ones neither, if most are none.
	if a.Conditions.Governed != "" || a.Conditions.Resolved != "" {
		sql = []string{fmt.Sprintf("alter table %s add column %s text, add column %s timestamptz", table, disposition, archived)}
	}
	if a.Conditions.Governed == "" && a.Conditions.Resolved != "" {
		sql = append(sql, fmt.Sprintf("alter table %s alter column %s set default %s", table, disposition, literal(string(a.Default))))
	}
	return Step{
		Name: stepColumns, Does: "adds the columns that show what the policy decides; no row is rewritten",
		Lock: which + ": ACCESS EXCLUSIVE, for a moment", SQL: as(a.Source.Owner, r, sql...),
	}
}

// stepMove has nodes govern the rows under another table of the policy, and read them
// again. Its number tells it from an earlier move.
func (a *Adoption) stepMove(r Rights) Step {
	s := Step{
		Name: fmt.Sprintf("move to %s, after step %d", a.MoveTo, len(a.done)),
		Does: "lets nodes resolve its open errors and report their rows again in " + a.MoveTo,
	}
	if a.mirrors() && a.Conditions.Governed == "" {
		s.Lock = a.Source.String() + ": ACCESS EXCLUSIVE, for a moment"
		s.SQL = as(a.Source.Owner, r, fmt.Sprintf("alter table %s alter column %s set default %s", a.Source.Quoted(), quote(a.Mapping.Disposition), literal(string(a.Default))))
	}
	s.SQL = append(s.SQL, as(r.SchemaOwner, r,
		fmt.Sprintf("update recoup.adoption set table_name = %s, state = case state when '%s' then '%s' else state end, scanned_to = null, scan_end = null, scanned = 0, turn = turn + 1 where adoption_id = %d",
			literal(a.MoveTo), wire.AdoptionGoverned, wire.AdoptionBackfilling, a.ID),
		fmt.Sprintf("insert into recoup.audit (at, actor, act, target, details) values (recoup.clock(), session_user, 'table.adopt', %s, json_build_object('table', %s))",
			literal(a.Source.Quoted()), literal(a.MoveTo)))...)
	return s
}

func (a *Adoption) stepFunctions(r Rights) Step {
	made := append([]string{a.view()}, a.defineAll(a.Functions())...)
	s := Step{
		Name: stepFunctions, SQL: a.asOwnerInSchema(r, made),
		Does: fmt.Sprintf("creates the view and the functions by which nodes reach the table; they belong to %s", a.Source.Owner),
	}
	if !sameRules(a.Rules, wire.SourceRules{}) {
		s.SQL = append(s.SQL, a.agree(r)...)
	}
	s.SQL = append(s.SQL, a.describe(r)...)
	return s
}

// define creates a function that only the role of the adoption can call, besides its owner.
func (a *Adoption) define(f Function) []string {
	made := []string{f.Text, fmt.Sprintf("revoke execute on function %s(%s) from public", f.Name, f.Arguments)}
	if f.Called && a.Role != "" {
		made = append(made, a.grant(f))
	}
	return made
}

// defineAll creates several functions.
func (a *Adoption) defineAll(list []Function) (made []string) {
	for _, f := range list {
		made = append(made, a.define(f)...)
	}
	return made
}

// asOwnerInSchema has statements run by the owner of the source, who may make functions in
// the schema recoup meanwhile.
func (a *Adoption) asOwnerInSchema(r Rights, made []string) (sql []string) {
	owner := quote(a.Source.Owner)
	if !r.HasCreate {
		sql = as(r.SchemaOwner, r, "grant create on schema recoup to "+owner)
	}
	sql = append(sql, as(a.Source.Owner, r, made...)...)
	if !r.HasCreate {
		sql = append(sql, as(r.SchemaOwner, r, "revoke create on schema recoup from "+owner)...)
	}
	return sql
}

func (a *Adoption) stepTriggers(table string, r Rights) Step {
	s := Step{
		Name: stepTriggers + " " + table, Does: "adds statement triggers that note the keys of changed rows",
		Lock: strings.ReplaceAll(table, `"`, "") + ": SHARE ROW EXCLUSIVE, for a moment; keeps out writers, not readers",
		SQL:  as(a.Source.Owner, r, a.triggers(table)...),
	}
	if table == a.Source.Quoted() {
		s.Does += ", and a row trigger for those that arrive by logical replication"
		s.SQL = as(a.Source.Owner, r, append(a.triggers(table), a.rowTrigger()...)...)
		if slices.Contains(a.done, stepBackfill) && !slices.Contains(a.done, s.Name) {
			s.Does += "; its rows are read again, because it was without them"
			s.SQL = append(s.SQL, a.readAgain(r, "")...)
		}
	}
	return s
}

// readAgain returns the statement that has nodes read all rows again, which also sets what is given.
func (a *Adoption) readAgain(r Rights, set string) []string {
	return as(r.SchemaOwner, r, fmt.Sprintf("update recoup.adoption set state = '%s', scanned_to = null, scan_end = null, scanned = 0, turn = turn + 1%s where adoption_id = %d",
		wire.AdoptionBackfilling, set, a.ID))
}
