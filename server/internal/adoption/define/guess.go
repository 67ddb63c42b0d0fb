package define

import (
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// The names that columns have, likeliest first.
var (
	entityNames   = strings.Fields("entity_id entity outreach_id company_id person_id customer_id account_id order_id job_id record_id subject_id user_id")
	codeNames     = strings.Fields("code error_code err_code failure_code error_type failure_type kind type reason failure_reason error_class exception_class exception error_name category status_code name")
	messageNames  = strings.Fields("message error_message err_msg msg failure_message error_text error details detail description error_detail reason text note body")
	severityNames = strings.Fields("severity error_severity level log_level sev priority")
	createdNames  = strings.Fields("created_at occurred_at failed_at happened_at inserted_at errored_at recorded_at logged_at event_time error_time created createdat created_on date_created ts timestamp time at")
	seenNames     = strings.Fields("last_seen last_seen_at last_occurred_at last_occurrence last_failed_at last_failure_at last_error_at last_attempt_at attempts attempt_count occurrences occurrence_count failure_count times_seen seen_count retry_count retries")
)

// Guess completes a mapping: what nobody has said is guessed from names, types and a
// sample. What cannot be guessed stays empty.
func Guess(s *Source, sample Sample, said wire.Mapping, entityColumn string) wire.Mapping {
	g := guesser{source: s, sample: sample}
	m := said
	for _, name := range []string{m.Entity, m.Code, m.Message, m.Severity, m.CreatedAt, m.LastSeen} {
		g.take(name)
	}
	if m.Entity == "" {
		m.Entity = g.entity(entityColumn)
	}
	if m.CreatedAt == "" {
		m.CreatedAt = g.first(createdNames, func(c Column, v Values) bool {
			return c.Category == "D" || c.Category == "N" || c.Category == "S" && v.Longest <= 40
		})
	}
	if m.Code == "" && m.CodeValue == "" {
		m.Code = g.first(codeNames, g.looksLikeCode)
	}
	if m.CodeValue == "" {
		m.CodeValue = defaultCode
	}
	if m.Message == "" {
		m.Message = g.first(messageNames, func(c Column, _ Values) bool { return c.Category == "S" || c.Base == typeJSON || c.Base == typeJSONB })
	}
	if m.Severity == "" {
		m.Severity = g.first(severityNames, func(c Column, _ Values) bool { return c.Category == "S" || c.Category == "E" })
	}
	if m.LastSeen == "" {
		m.LastSeen = g.first(seenNames, func(c Column, _ Values) bool { return c.Category == "D" || c.Category == "N" })
	}
	return m
}

// defaultCode is the code of rows whose own column says none.
const defaultCode = "INTERNAL_ERROR"

type guesser struct {
	source *Source
	sample Sample
	taken  []string
}

func (g *guesser) take(name string) {
	if name != "" {
		g.taken = append(g.taken, name)
	}
}

// first is the first column of these names that can be what it is wanted for.
func (g *guesser) first(names []string, fits func(Column, Values) bool) string {
	for _, name := range names {
		for _, c := range g.source.Columns {
			if strings.EqualFold(strings.ReplaceAll(c.Name, " ", "_"), name) && g.can(c) && fits(c, g.sample.Columns[c.Name]) {
				g.take(c.Name)
				return c.Name
			}
		}
	}
	return ""
}

// can reports whether a column is free, and says something where rows were seen.
func (g *guesser) can(c Column) bool {
	return c.readable() && !slices.Contains(g.taken, c.Name) && (g.sample.Rows == 0 || g.sample.Columns[c.Name].Filled > 0)
}

// entity is the policy's own name for it, a known one, or the only id that is not the key.
func (g *guesser) entity(policy string) string {
	anything := func(Column, Values) bool { return true }
	if name := g.first(append([]string{policy}, entityNames...), anything); name != "" {
		return name
	}
	var ids []string
	for _, c := range g.source.Columns {
		key := len(g.source.Key) == 1 && g.source.Key[0].Name == c.Name
		if strings.HasSuffix(strings.ToLower(c.Name), "_id") && !key && g.can(c) {
			ids = append(ids, c.Name)
		}
	}
	if len(ids) != 1 {
		return ""
	}
	g.take(ids[0])
	return ids[0]
}

// looksLikeCode: short, and the same again and again where there are enough rows to tell.
func (g *guesser) looksLikeCode(c Column, v Values) bool {
	if c.Category == "D" || c.Category == "B" || c.Base == "uuid" || v.Longest > 64 {
		return false
	}
	return v.Filled < 20 || v.Distinct*2 <= v.Filled
}
