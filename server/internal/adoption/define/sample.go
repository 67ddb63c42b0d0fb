package define

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// sampleRows is how many rows a guess looks at.
const sampleRows = 1000

// Sample is what the first rows of a table have in their columns.
type Sample struct {
	Rows    int
	Columns map[string]Values
}

// Values is what a sample has in a column.
type Values struct {
	Filled   int // how many are not null
	Distinct int // how many there are of them
	Longest  int // letters
}

// readable reports whether a column's text may say something of a failure.
func (c Column) readable() bool {
	return strings.Contains("NSDEB", c.Category) || c.Base == "uuid" || c.Base == typeJSON || c.Base == typeJSONB || c.Kind == "d"
}

// readSample looks at the first rows of a table.
func readSample(ctx context.Context, conn *pgx.Conn, s *Source) (Sample, error) {
	sample := Sample{Columns: map[string]Values{}}
	var list, inner []string
	var names []string
	for i, c := range s.Columns {
		if !c.readable() {
			continue
		}
		names = append(names, c.Name)
		inner = append(inner, fmt.Sprintf("left(%s, 200) as c%d", textual("t", c), i))
		list = append(list, fmt.Sprintf("count(c%[1]d), count(distinct c%[1]d), coalesce(max(length(c%[1]d)), 0)", i))
	}
	if len(list) == 0 {
		return sample, nil
	}
	var found struct {
		Rows   int   `json:"rows"`
		Values []int `json:"found"`
	}
	query := fmt.Sprintf("select count(*) as rows, array[%s]::bigint[] as found from (select %s from %s t where %s limit %d) s", strings.Join(list, ", "), strings.Join(inner, ", "), s.Quoted(), s.here("t"), sampleRows)
	if err := asOwner(ctx, conn, s, selected(query), &found); err != nil {
		return sample, fmt.Errorf("look at the first rows of %s: %w", s, err)
	}
	sample.Rows = found.Rows
	for i, name := range names {
		if v := found.Values; len(v) >= 3*i+3 {
			sample.Columns[name] = Values{Filled: v[3*i], Distinct: v[3*i+1], Longest: v[3*i+2]}
		}
	}
	return sample, nil
}
