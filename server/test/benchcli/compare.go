package benchcli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/test/load"
)

func compareCommand(streams command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "compare A.json B.json",
		Short: "Compare the results of two runs",
		Long: `Prints two results that 'recoup-bench --out' has written, operation by operation, and how B
relates to A: a ratio of 2.00 of p99 means that B took twice as long. Settings that differ are
listed, because figures of different loads do not compare.`,
		Example: `  recoup-bench compare before.json after.json`,
		Args:    command.ExactArgs("A.json", "B.json"),
	}
	return command.Offline(streams, cmd, command.One, func(_ context.Context, s *command.Session, args []string) error {
		var c comparison
		for i, into := range []*result{&c.A, &c.B} {
			if err := read(args[i], into); err != nil {
				return err
			}
		}
		c.Operations = ratios(&c.A.Load, &c.B.Load)
		if s.Machine() {
			return s.Print(c)
		}
		c.say(s, filepath.Base(args[0]), filepath.Base(args[1]))
		return nil
	})
}

// read reads the result of a run.
func read(file string, into *result) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s is not a result of 'recoup-bench': %w", file, err)
	}
	if into.Format != resultFormat {
		return fmt.Errorf("%s is not a result of 'recoup-bench' that this version reads: its format is %d, expected %d", file, into.Format, resultFormat)
	}
	if into.Settings.Rate < 1 || into.Load.Planned < 1 {
		return fmt.Errorf("%s is not a result of 'recoup-bench': it has no figures", file)
	}
	return nil
}

// comparison is two results, and how the second relates to the first.
type comparison struct {
	A          result  `json:"a"`
	B          result  `json:"b"`
	Operations []ratio `json:"ratios"`
}

// ratio is how an operation of one run relates to that of another; a figure without one,
// because it was 0, is left out.
type ratio struct {
	Kind string  `json:"operation"`
	Rate float64 `json:"per_second,omitempty"`
	P50  float64 `json:"p50,omitempty"`
	P90  float64 `json:"p90,omitempty"`
	P99  float64 `json:"p99,omitempty"`
	P999 float64 `json:"p999,omitempty"`
	Max  float64 `json:"max,omitempty"`

	a, b load.Kind
}

// ratios are those of the operations that both runs have, and of all.
func ratios(a, b *load.Figures) (list []ratio) {
	for _, x := range append(a.Kinds[:len(a.Kinds):len(a.Kinds)], a.All) {
		for _, y := range append(b.Kinds[:len(b.Kinds):len(b.Kinds)], b.All) {
			if x.Kind != y.Kind {
				continue
			}
			p, q := x.Latency, y.Latency
			list = append(list, ratio{
				Kind: x.Kind, Rate: over(y.Rate, x.Rate), P50: over(q.P50, p.P50), P90: over(q.P90, p.P90), P99: over(q.P99, p.P99),
				P999: over(q.P999, p.P999), Max: over(q.Max, p.Max), a: x, b: y,
			})
		}
	}
	return list
}

// over is b in terms of a, rounded; 0: there is no such number.
func over[N ~float64](b, a N) float64 {
	if a == 0 {
		return 0
	}
	return float64(int64(float64(b)/float64(a)*1000+0.5)) / 1000
}

// say prints the comparison for people.
func (c *comparison) say(s *command.Session, a, b string) {
	p := command.Page{Width: s.Width}
	for _, side := range []struct {
		name, file string
		r          *result
	}{{"A", a, &c.A}, {"B", b, &c.B}} {
		p.Wrap(side.name+"  ", "   ", fmt.Sprintf("%s: %s; server %s; %s", command.Printable(side.file), side.r.title(), command.Printable(side.r.Version), side.r.StartedAt.Format("2006-01-02 15:04 UTC")))
	}
	fmt.Fprintln(&p)
	p.WriteString(c.table(s.Streams).String())
	fmt.Fprint(s.Out, p.String())
	if list := c.differences(); len(list) > 0 {
		s.Notef("\n%s", strings.Join(list, "\n"))
	}
}

// factor is a ratio in a cell, in hundredths; 0: there is none.
type factor int64

// tiny is a ratio of less than a hundredth, which is one all the same.
const tiny factor = -1

func (f factor) String() string {
	switch f {
	case 0:
		return ""
	case tiny:
		return "<0.01x"
	}
	return fmt.Sprintf("%d.%02dx", f/100, f%100)
}

func factorOf(b, a load.Milliseconds) factor { return factorOfRate(float64(b), float64(a)) }

func factorOfRate(b, a float64) factor {
	f := factor(over(b, a)*100 + 0.5)
	if f == 0 && a > 0 && b > 0 {
		return tiny
	}
	return f
}

// table has three rows for each operation: the first run, the second, and their ratio.
func (c *comparison) table(s command.Streams) *command.Table {
	t := command.NewTable(s, command.Column{Name: "OPERATION"}, command.Column{Name: "RATE", Drop: 2}, command.Column{Name: "FAILED", Drop: 3},
		command.Column{Name: "P50"}, command.Column{Name: "P90", Drop: 1}, command.Column{Name: "P99"}, command.Column{Name: "P99.9"}, command.Column{Name: "MAX"})
	for _, o := range c.Operations {
		for _, side := range []struct {
			name string
			load.Kind
		}{{"A", o.a}, {"B", o.b}} {
			l := side.Latency
			t.Add(o.Kind+" "+side.name, tenths(side.Rate*10+0.5), side.Failed, micros(l.P50), micros(l.P90), micros(l.P99), micros(l.P999), micros(l.Max))
		}
		p, q := o.a.Latency, o.b.Latency
		t.Add(o.Kind+" B/A", factorOfRate(o.b.Rate, o.a.Rate), factor(0), factorOf(q.P50, p.P50), factorOf(q.P90, p.P90), factorOf(q.P99, p.P99), factorOf(q.P999, p.P999), factorOf(q.Max, p.Max))
	}
	return t
}

// differences are what makes two runs hard to compare.
func (c *comparison) differences() (list []string) {
	a, b := c.A.Settings, c.B.Settings
	for _, d := range []struct {
		what string
		a, b any
	}{
		{"rate", a.Rate, b.Rate}, {"seconds", a.Seconds, b.Seconds}, {"mix", a.Mix, b.Mix}, {"clients", a.Clients, b.Clients},
		{"batch", a.Batch, b.Batch}, {"seed", a.Seed, b.Seed}, {"retry-after", a.RetryAfter, b.RetryAfter},
	} {
		if d.a != d.b {
			list = append(list, fmt.Sprintf("The runs differ in their %s: A has %v, B has %v.", d.what, d.a, d.b))
		}
	}
	for _, side := range []struct {
		name string
		*result
	}{{"A", &c.A}, {"B", &c.B}} {
		f := &side.Load
		switch {
		case side.Interrupted:
			list = append(list, side.name+" was interrupted.")
		case f.Unsent > 0:
			list = append(list, fmt.Sprintf("%s never sent %d of its %d operations: its true latencies are longer.", side.name, f.Unsent, f.Planned))
		}
		if f.Late() {
			list = append(list, fmt.Sprintf("The generator of %s was late by %s or more, one time in a hundred: its latencies include that.", side.name, micros(f.Lag.P99)))
		}
		if f.Saturated() {
			list = append(list, fmt.Sprintf("The generator of %s used %.0f%% of its CPU: it may have limited the rate, and not the server.", side.name, f.Busy*100))
		}
	}
	return list
}
