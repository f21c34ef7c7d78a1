package main

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"penstock/client"
)

func (sh *shell) usageCommand() *cobra.Command {
	var q client.ReportQuery
	var o operatorUsage
	c := &cobra.Command{
		Use: "usage", Short: "Report usage and cost", Args: takes(),
		Long: `Reports what your tenant spent, by default in this month: calls and items, tokens by
class, and cost. Forfeit is money that counts against budgets because its real cost is
unknown.

--by groups by tenant, key, model, lane, day, tag (all tags of a job) or tag:NAME.

Operators select one tenant with --tenant or all with --all-tenants; both use the admin
API.`,
		Example: "  penstock usage --by model,day --from 2026-11-01 --to 2026-11-15\n  penstock usage --by tag:team -o json\n  penstock usage --all-tenants --by model",
		RunE: func(c *cobra.Command, _ []string) error {
			if o.all || o.tenant != "" {
				return sh.operatorUsage(c.Context(), o, q)
			}
			cl, err := sh.connect(triesOnce)
			if err != nil {
				return err
			}
			report, err := cl.Usage(c.Context(), q)
			if err != nil {
				return err
			}
			return sh.printReport(report)
		},
	}
	c.Flags().StringSliceVar(&q.GroupBy, "by", nil, "group by tenant, key, model, lane, day, tag or tag:NAME")
	c.Flags().StringVar(&q.From, "from", "", "the first `day`, such as 2026-11-01 (default: the first of this month)")
	c.Flags().StringVar(&q.To, "to", "", "the last `day` (default: today)")
	c.Flags().StringVar(&o.tenant, "tenant", "", "report this tenant; for operators")
	c.Flags().BoolVar(&o.all, "all-tenants", false, "report every tenant; for operators")
	adminFlag(c, &o.at)
	return c
}

// operatorUsage is whose spending an operator asks for.
type operatorUsage struct {
	at, tenant string
	all        bool
}

func (sh *shell) operatorUsage(ctx context.Context, o operatorUsage, q client.ReportQuery) error {
	if o.all && o.tenant != "" {
		return usageError{"--tenant and --all-tenants were both given; give only one"}
	}
	a, err := sh.connectAdmin(o.at)
	if err != nil {
		return err
	}
	query := q.Values()
	if o.tenant != "" {
		query.Set("tenant", o.tenant)
	}
	var report client.Report
	if err := a.do(ctx, adminCall{method: http.MethodGet, path: []string{"admin/v1/usage"}, query: query}, &report); err != nil {
		return err
	}
	return sh.printReport(&report)
}

func (sh *shell) printReport(r *client.Report) error {
	if sh.output == outputJSON {
		return sh.raw(r.Raw)
	}
	var header []string
	for _, by := range r.GroupBy {
		header = append(header, strings.ToUpper(by))
	}
	t := sh.table(slices.Concat(header, []string{"REQUESTS", "TOKENS", "COST", "FORFEIT"})...)
	line := func(of []string, s client.ReportSum) error {
		return t.row(slices.Concat(of, []string{strconv.FormatInt(s.Requests, 10), tokens(s.Usage), dollars(s.Cost), dollars(s.Forfeit)})...)
	}
	for _, g := range r.Data {
		var of []string
		for _, by := range r.GroupBy {
			of = append(of, groupValue(g, by))
		}
		if err := line(of, g.ReportSum); err != nil {
			return err
		}
	}
	of := make([]string, len(r.GroupBy))
	if len(of) > 0 {
		of[0] = "total"
	}
	if err := line(of, r.Total); err != nil {
		return err
	}
	return t.end("")
}

func groupValue(g *client.ReportGroup, by string) string {
	switch by {
	case "tenant":
		return g.Tenant
	case "key":
		return g.Key
	case "model":
		return g.Model
	case "lane":
		return g.Lane
	case "day":
		return g.Day
	}
	if name, ok := strings.CutPrefix(by, "tag:"); ok {
		return g.Tags[name]
	}
	var tags []string
	for name, value := range g.Tags {
		tags = append(tags, name+":"+value)
	}
	slices.Sort(tags)
	return strings.Join(tags, " ")
}
