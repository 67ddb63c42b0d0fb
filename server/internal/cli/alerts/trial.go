package alerts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// trialFile is a file of tests for alert rules. Times are counted from the
// beginning of each test.
type trialFile struct {
	Policy string      `yaml:"policy"` // a file beside this one; empty: the command's
	Rules  []any       `yaml:"rules"`  // instead of the policy's own
	Step   string      `yaml:"step"`
	Tests  []trialTest `yaml:"tests"`
}

type trialTest struct {
	Name     string         `yaml:"name"`
	Given    []trialSeries  `yaml:"given"`
	Silences []trialSilence `yaml:"silences"`
	Expect   []trialExpect  `yaml:"expect"`
}

// trialSeries is a metric over time: "0%x10 6%+1%x5 _".
type trialSeries struct {
	Metric  string `yaml:"metric"`
	Scope   string `yaml:"scope"`
	Window  string `yaml:"window"`
	Values  string `yaml:"values"`
	Samples string `yaml:"samples"`
}

type trialSilence struct {
	Rule  string `yaml:"rule"`
	Scope string `yaml:"scope"`
	From  string `yaml:"from"`
	Until string `yaml:"until"`
}

// trialExpect is what is to be so at a time. What is left out is not compared.
type trialExpect struct {
	At        string            `yaml:"at"`
	Alerts    *[]trialAlert     `yaml:"alerts"`
	Notified  *[]string         `yaml:"notified"`
	Providers map[string]string `yaml:"providers"`
}

type trialAlert struct {
	Rule     string `yaml:"rule"`
	Scope    string `yaml:"scope"`
	State    string `yaml:"state"`
	Severity string `yaml:"severity"`
}

// readTrials reads a file of tests and the policy that they are for.
func readTrials(name string, fallback *command.PolicyFlags, streams command.Streams) (*trialFile, *policy.Policy, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot read the tests: %w", err)
	}
	var f trialFile
	if err := yaml.UnmarshalWithOptions(data, &f, yaml.Strict()); err != nil {
		return nil, nil, fmt.Errorf("%s: %s", name, yaml.FormatError(err, false, false))
	}
	if len(f.Tests) == 0 {
		return nil, nil, fmt.Errorf("%s: it has no tests: expected a list named tests", name)
	}
	from := *fallback
	if f.Policy != "" {
		err = from.Read(streams, filepath.Join(filepath.Dir(name), f.Policy), "the file of tests", from.Policy.Registry())
	}
	p := from.Policy
	if err == nil && len(f.Rules) > 0 {
		p, err = withRules(p, f.Rules)
	}
	if err != nil && !errors.Is(err, command.ErrSilent) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return &f, p, err
}

// withRules returns a policy with other alert rules, which are held to all that a
// policy file is held to.
func withRules(p *policy.Policy, rules []any) (*policy.Policy, error) {
	var text map[string]any
	if err := yaml.Unmarshal([]byte(p.Text()), &text); err != nil {
		return nil, err
	}
	alerts, ok := text["alerts"].(map[string]any)
	if !ok {
		alerts = map[string]any{}
		text["alerts"] = alerts
	}
	alerts["rules"] = rules
	data, err := yaml.MarshalWithOptions(text, yaml.AutoInt())
	if err != nil {
		return nil, err
	}
	changed, err := policy.Load("rules", data, p.Registry())
	var refused *policy.LoadError
	if errors.As(err, &refused) {
		var said []string
		for _, problem := range refused.Problems {
			said = append(said, problem.Message)
		}
		return nil, fmt.Errorf("the rules are invalid: %s", strings.Join(said, "; "))
	}
	return changed, err
}

// plenty is how many samples a rate has where a test does not say.
const plenty = 1_000_000

// trial turns a test into one that can be run.
func (t *trialTest) trial(p *policy.Policy, step time.Duration) (*alert.Trial, error) {
	trial := &alert.Trial{Policy: p, Step: step}
	for _, g := range t.Given {
		series, err := g.series(p)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(p.Alerts, func(rule policy.Alert) bool { return series.Feeds(&rule) }) {
			return nil, fmt.Errorf("no rule looks at %s of %s: rules per hub, service or provider want a scope, those per platform none",
				g.Metric, nameScope(g.Scope))
		}
		trial.Series = append(trial.Series, series)
	}
	for _, s := range t.Silences {
		from, err := trialTime("from", s.From)
		if err != nil {
			return nil, err
		}
		until, err := trialTime("until", s.Until)
		if err != nil {
			return nil, err
		}
		trial.Silences = append(trial.Silences, alert.Hush{Rule: s.Rule, Scope: s.Scope, From: from, Until: until})
	}
	return trial, nil
}

func (g *trialSeries) series(p *policy.Policy) (alert.Series, error) {
	s := alert.Series{Metric: g.Metric, Scope: g.Scope}
	if !slices.ContainsFunc(p.Metrics, func(m policy.Metric) bool { return m.Name == g.Metric }) {
		return s, fmt.Errorf("the policy has no metric %q", g.Metric)
	}
	var err error
	if s.Window, err = trialTime("window", g.Window); err != nil {
		return s, err
	}
	if s.Points, err = parsePoints(g.Values); err != nil {
		return s, fmt.Errorf("values of %s: %w", g.Metric, err)
	}
	counts := []alert.Point{{Value: plenty}}
	if g.Samples != "" {
		if counts, err = parsePoints(g.Samples); err != nil {
			return s, fmt.Errorf("samples of %s: %w", g.Metric, err)
		}
	}
	for len(s.Points) < len(counts) {
		s.Points = append(s.Points, s.Points[len(s.Points)-1])
	}
	for i := range s.Points {
		s.Points[i].Samples = int64(counts[min(i, len(counts)-1)].Value)
	}
	return s, nil
}

// trialTime reads a time since the beginning; nothing given is the beginning.
func trialTime(field, given string) (time.Duration, error) {
	if given == "" || given == "0" {
		return 0, nil
	}
	d, err := policy.ParseDuration(given)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not a duration: expected one such as 10m, counted from the beginning", field, given)
	}
	return d, nil
}

// pointPattern is a value, a value that grows or shrinks, or none, perhaps many
// times: 5%, 3x10, 0+10x5, 100-2%x3, _x4.
var pointPattern = regexp.MustCompile(`^(?:_|(\d+(?:\.\d+)?%?)(?:([+-])(\d+(?:\.\d+)?%?))?)(?:x(\d{1,5}))?$`)

// maxPoints is how long a series may be: a week of minutes.
const maxPoints = 10_080

// parsePoints reads a series. "ax3" is a, three times; "a+bx3" is a and then three
// times b more, as promtool writes it.
func parsePoints(text string) ([]alert.Point, error) {
	var list []alert.Point
	for _, word := range strings.Fields(text) {
		m := pointPattern.FindStringSubmatch(word)
		if m == nil {
			return nil, fmt.Errorf("%q is not a value: expected such as 5%%, 3x10, 0+10x5 or _", word)
		}
		times, _ := strconv.Atoi(m[4]) // the pattern lets nothing else pass
		if m[4] == "" {
			times = 1
		}
		value, step := parseAmount(m[1]), parseAmount(m[3])
		if m[2] == "-" {
			step = -step
		}
		if m[2] != "" {
			times++ // the first value is not counted
		}
		if len(list)+times > maxPoints {
			return nil, fmt.Errorf("there are more than %d", maxPoints)
		}
		for i := range times {
			list = append(list, alert.Point{Value: value + float64(i)*step, Missing: strings.HasPrefix(word, "_")})
		}
	}
	if len(list) == 0 {
		return nil, errors.New("there are none")
	}
	return list, nil
}

// parseAmount reads what the pattern has accepted; nothing is zero.
func parseAmount(s string) float64 {
	digits, percent := strings.CutSuffix(s, "%")
	v, _ := strconv.ParseFloat(digits, 64)
	if percent {
		return v / 100
	}
	return v
}

func nameScope(scope string) string {
	if scope == "" {
		return "everything together"
	}
	return "the scope " + scope
}
