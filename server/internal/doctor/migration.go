package doctor

import (
	"errors"
	"fmt"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// JudgeMigrations judges a schema by what was applied of its migrations, and by why their
// status could not be told. Where it finds something, nothing else can be judged.
func JudgeMigrations(list store.Migrations, err error) (found []FixableFinding, other error) {
	const name = "migrations"
	var i FixableFinding
	switch {
	case errors.Is(err, store.ErrSchemaNewer):
		i = NewFinding(wire.FindingCritical, "schema", "It is newer than this binary: "+err.Error()+".", "recoup version")
	case errors.Is(err, store.ErrSchemaForeign):
		i = NewFinding(wire.FindingCritical, "schema", "It was made by other migrations: "+err.Error()+".", "")
	case err != nil:
		return nil, err
	default:
		pending := 0
		for _, m := range list {
			if m.AppliedAt.IsZero() {
				pending++
			}
		}
		if pending == 0 {
			return nil, nil
		}
		i = NewFinding(wire.FindingCritical, "schema", fmt.Sprintf("%s of %d not applied: nodes of this version do not start on it.", count(pending, "migration"), len(list)), fixMigrate)
	}
	i.Check = name
	return []FixableFinding{i}, nil
}
