package events

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

func exportRules(streams command.Streams) *cobra.Command {
	return exportPolicy(streams, &cobra.Command{
		Use:   "prometheus-rules",
		Short: "Write the policy's alert rules for Prometheus",
		Long: `Writes the alert rules of a policy as a rule file for Prometheus, over the metrics that
nodes expose at /metrics. It needs no server. Recoup evaluates its rules by itself; this is for
those who have all their alerts in Prometheus.`,
		Example: `  recoup export prometheus-rules > recoup.rules.yml
  recoup export prometheus-rules --policy policy.yaml --json`,
		Args: command.NoArgs,
	}, func(p *policy.Policy, asJSON bool) ([]byte, error) {
		rules := alert.PrometheusRules(p)
		if asJSON {
			return json.MarshalIndent(rules, "", "  ")
		}
		text, err := yaml.Marshal(rules)
		head := fmt.Sprintf("# Alert rules of Recoup's policy %s, made by 'recoup export prometheus-rules'.\n", p.Version)
		return append([]byte(head), text...), err
	})
}

func exportDashboard(streams command.Streams) *cobra.Command {
	return exportPolicy(streams, &cobra.Command{
		Use:   "grafana-dashboard",
		Short: "Write a dashboard for Grafana",
		Long: `Writes a dashboard for Grafana as JSON, to be imported there: the metrics of a policy with
their thresholds, alerts, providers and jobs. It needs no server. The data source must be a
Prometheus that scrapes the nodes and has the rules of 'recoup export prometheus-rules'.`,
		Example: `  recoup export grafana-dashboard > recoup.json`,
		Args:    command.NoArgs,
	}, func(p *policy.Policy, _ bool) ([]byte, error) {
		return json.MarshalIndent(alert.GrafanaDashboard(p), "", "  ")
	})
}

// exportPolicy makes cmd one that writes something that follows from a policy.
func exportPolicy(streams command.Streams, cmd *cobra.Command, write func(p *policy.Policy, asJSON bool) ([]byte, error)) *cobra.Command {
	var from command.PolicyFlags
	return from.Offline(streams, cmd, nil, func(_ context.Context, s *command.Session, _ []string) error {
		text, err := write(from.Policy, s.JSON())
		if err != nil {
			return err
		}
		if text[len(text)-1] != '\n' {
			text = append(text, '\n')
		}
		_, err = s.Out.Write(text)
		return err
	})
}
