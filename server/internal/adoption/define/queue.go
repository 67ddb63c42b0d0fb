package define

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/adoption/preset"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// shape is the columns of the source, as presets compare them.
func (s *Source) shape() (list []preset.Column) {
	for _, c := range s.Columns {
		list = append(list, preset.Column{Name: c.Name, Type: c.Base})
	}
	return list
}

// refusePreset says that the source is no table of the queue that it is said to be of.
func (p *Plan) refusePreset() {
	queue, known := preset.Named(p.Preset)
	if !known {
		p.Refusals = append(p.Refusals, Refusal{"--preset " + p.Preset + ": there is none of that name", "the presets are " + strings.Join(preset.Names(), ", ")})
		return
	}
	lacks := queue.Missing(p.Facts.shape())
	if len(lacks) == 0 {
		return
	}
	way := fmt.Sprintf("name the table of %s, usually %s, or adopt it without --preset", queue.Of, queue.Usual)
	if other := preset.Recognise(p.Facts.shape()); other != nil {
		way = fmt.Sprintf("it looks like %s's: use --preset %s", other.Of, other.Name)
	}
	p.Refusals = append(p.Refusals, Refusal{fmt.Sprintf("--preset %s: %s lacks columns of a table of %s: %s", p.Preset, p.Source, queue.Of, strings.Join(lacks, ", ")), way})
}

// fill completes a mapping by the preset. What people say stands.
func (p *Plan) fill(said wire.Mapping, noMirror bool) wire.Mapping {
	queue, _ := preset.Named(p.Preset)
	m, by := said, queue.Mapping
	for _, part := range []struct {
		name   string
		to     *string
		preset string
	}{
		{"entity", &m.Entity, by.Entity},
		{"message", &m.Message, by.Message},
		{"severity", &m.Severity, by.Severity},
		{"created_at", &m.CreatedAt, by.CreatedAt},
		{"time_zone", &m.TimeZone, by.TimeZone},
		{"governed_when", &m.GovernedWhen, by.GovernedWhen},
		{"underway_when", &m.UnderwayWhen, by.UnderwayWhen},
		{"code", &m.CodeValue, by.CodeValue},
	} {
		if *part.to != "" || part.preset == "" {
			continue
		}
		if *part.to = part.preset; part.name != "code" || said.Code == "" {
			p.Filled = append(p.Filled, part.name)
		}
	}
	return p.mirrored(m, noMirror)
}

// noteQueue says what is to be known of the table of a queue, or that it is one.
func (p *Plan) noteQueue() {
	queue := p.adoption.Preset
	if queue == nil {
		if found := preset.Recognise(p.Facts.shape()); found != nil {
			p.Notes = append(p.Notes, fmt.Sprintf("It looks like a table of %s, in which most rows are no failures: use --preset %s.", found.Of, found.Name))
		}
		return
	}
	p.Notes = append(p.Notes, fmt.Sprintf("When the policy retries a job's error, a node sets the job off again: %s. What becomes of the job decides the attempt.", strings.ReplaceAll(queue.Retry, "s.", "")))
	if p.adoption.Mapping.Entity == queue.Mapping.Entity {
		p.Notes = append(p.Notes, fmt.Sprintf("Each job is an entity of its own. If an argument of the job says what cannot go on, name it: --entity \"%s->>'KEY'\".", cmp.Or(queue.Payload, "COLUMN")))
	}
	p.Notes = append(p.Notes, fmt.Sprintf("A failed job that %s deletes by its own retention is resolved then: have it keep failed jobs longer than the policy keeps errors.", queue.Of))
}

// retry lets jobs that have failed for good run once more, and returns the keys of those
// that it has set off. What is no failure any more is left alone: somebody else has set it
// off. A job that somebody holds is waited for, a moment.
func (a *Adoption) retry() Function {
	parts, same := []string{"w.key as recoup_key"}, []string{}
	for i, part := range a.keyParts("w.key") {
		name := fmt.Sprintf("recoup_key%d", i+1)
		parts, same = append(parts, part+" as "+name), append(same, a.keyColumns()[i]+" = w."+name)
	}
	settings := " set plan_cache_mode = force_generic_plan set lock_timeout = '2s'" + a.stableText()
	return a.function("retry", "keys text[]", "text[]", "text[]", settings, fmt.Sprintf(`declare
  done text[];
begin
  with w as (
    select %s from unnest($1) w (key)
  ), off as (
    update %s s set %s
    from w where %s and %s and %s returning w.recoup_key
  )
  select array_agg(recoup_key) into done from off;
  return coalesce(done, '{}');
end `, strings.Join(parts, ", "), a.Source.Quoted(), a.Preset.Retry, a.isSource("s"), strings.Join(same, " and "), a.governed()))
}
