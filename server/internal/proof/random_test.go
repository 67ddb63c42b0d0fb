package proof

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// setting is a value of the policy file that is drawn at random.
var setting = regexp.MustCompile(`\b(ttl|default|allowed|blocks|lasts|after|window|max_retries|disposition|otherwise): (\[[^\]]*\]|\w+)`)

// Whatever the loader accepts has no dead end, no lost owner, no runaway retry:
// the loader's checks and the proof, made from opposite ends, agree.
func TestLoadablePoliciesHaveNoErrors(t *testing.T) {
	base := string(policy.DefaultFile())
	for _, part := range []string{ // few codes and tables make a small space
		"      auto_park:", "  conditions:", "  outreach.dol_errors:", "  people.people_errors:",
		"  public.shq_error_log:", "  pipeline.dead_letters:",
	} {
		base = cut(base, part)
	}
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		spot := rapid.IntRange(0, len(setting.FindAllString(base, -1))-1)
		chosen := rapid.SliceOfN(spot, 1, 4).Draw(t, "chosen")
		n := -1
		changed := setting.ReplaceAllStringFunc(base, func(old string) string {
			if n++; !slices.Contains(chosen, n) {
				return old
			}
			key, _, _ := strings.Cut(old, ":")
			return key + ": " + value(t, key)
		})
		p, err := policy.Load("random.yaml", []byte(changed), fault.Default())
		if err != nil {
			return
		}
		accepted++
		if r := Check(p, fault.Default()); r.Count(Error) > 0 {
			t.Fatalf("loaded, but:\n%s", text(r))
		}
	})
	if accepted == 0 {
		t.Errorf("no policy was accepted")
	}
}

// cut empties a block of a YAML text, its first line and what is indented deeper,
// so that the other lines keep their numbers.
func cut(text, first string) string {
	lines := strings.SplitAfter(text, "\n")
	var kept strings.Builder
	depth := -1
	for _, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		if depth >= 0 && indent <= depth && strings.TrimSpace(line) != "" {
			depth = -1
		}
		if strings.HasPrefix(line, first) {
			depth = indent
		}
		if depth >= 0 {
			line = "\n"
		}
		kept.WriteString(line)
	}
	return kept.String()
}

func value(t *rapid.T, key string) string {
	actions := []string{"RETRY", "PARK", "ARCHIVE", "IGNORE"}
	pick := func(list ...string) string { return rapid.SampledFrom(list).Draw(t, key) }
	switch key {
	case "ttl":
		return pick("SHORT", "MEDIUM", "LONG", "INFINITE")
	case "default", "disposition", "otherwise":
		return pick(actions...)
	case "blocks":
		return pick("true", "false")
	case "max_retries":
		return pick("1", "2", "9")
	case "allowed":
		list := rapid.SliceOfNDistinct(rapid.SampledFrom(actions), 1, 4, rapid.ID).Draw(t, key)
		return "[" + strings.Join(list, ", ") + "]"
	}
	return pick("1s", "10m", "3h", "2d", "40d")
}
