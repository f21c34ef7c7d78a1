package admin

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"penstock"
	"penstock/internal/backlog"
	"penstock/internal/rest"
	"penstock/internal/rollup"
	"penstock/internal/store"
)

// fleetRoutes report the processes, the queues and the targets.
var fleetRoutes = []rest.Route{
	{Method: "GET", Path: "/admin/v1/processes", Roles: viewers, Summary: "List the processes that are alive, with their slots",
		Answers: []rest.Answer{{Status: 200, About: "All of them, by name. The process that answers is described as it is now, the others as in their last heartbeat.", Body: rest.Page[runningProcess]{}, Example: exampleProcesses}},
		Serve:   on(reports.processes)},
	{Method: "GET", Path: "/admin/v1/queues", Roles: viewers, Summary: "Report each lane with its tenants, their shares and the pauses",
		Answers: []rest.Answer{{Status: 200, About: "The lanes, most urgent first, over all processes.", Body: queuesView{}}}, Serve: on(reports.queues)},
	{Method: "GET", Path: "/admin/v1/targets", Roles: viewers, Summary: "List the targets with their state, load, limits and prices",
		Answers: []rest.Answer{{Status: 200, About: "All of them, by name. State, permits and limits are those of the process that answers; running calls are of all processes.", Body: rest.Page[targetView]{}}},
		Serve:   on(reports.targets)},
}

// runningProcess is a process that holds a lease.
type runningProcess struct {
	Name        string         `json:"name"`
	Self        bool           `json:"self" about:"The process that answers."`
	Version     string         `json:"version" about:"Empty until the first heartbeat of the process."`
	Role        string         `json:"role" about:"all, api or worker."`
	Works       bool           `json:"works" about:"It claims items."`
	Draining    bool           `json:"draining" about:"It is about to stop: it claims nothing and finishes what runs."`
	Slots       int            `json:"slots" about:"Items that it runs at a time."`
	InUse       int            `json:"in_use"`
	Calls       int            `json:"calls" about:"Open calls to targets, synchronous calls included."`
	ByTarget    map[string]int `json:"calls_by_target" about:"The open calls of each target that has some."`
	Blocked     []string       `json:"blocked" about:"Targets that it may not call now."`
	Silent      bool           `json:"silent" about:"It missed its last heartbeats. Unless it reports again, its lease ends and its items return to the queue."`
	StartedAt   *time.Time     `json:"started_at"`
	HeartbeatAt *time.Time     `json:"heartbeat_at"`
}

func (c reports) processes() error {
	all, err := c.Processes(c.R.Context())
	if err != nil {
		return err
	}
	self := c.Load().Process.Name
	page := rest.Page[runningProcess]{Object: "list", Data: make([]runningProcess, len(all))}
	for i, p := range all {
		page.Data[i] = newRunningProcess(p)
		page.Data[i].Self = p.Name == self
		page.Data[i].Silent = silent(p, time.Now())
	}
	return c.JSON(http.StatusOK, page)
}

func newRunningProcess(p store.Process) runningProcess {
	v := runningProcess{
		Name: p.Name, Version: p.Version, Role: p.Role, Works: p.Works, Draining: p.Draining, Slots: p.Slots, InUse: p.InUse,
		ByTarget: map[string]int{}, Blocked: slices.Sorted(maps.Keys(p.Blocked)), StartedAt: moment(p.StartedAt), HeartbeatAt: moment(p.ReportedAt),
	}
	if v.Blocked == nil {
		v.Blocked = []string{}
	}
	for target, n := range p.Running {
		if n > 0 {
			v.ByTarget[target] = n
			v.Calls += n
		}
	}
	return v
}

// silent reports whether a process missed a heartbeat, with half an interval to spare for slow ones.
func silent(p store.Process, now time.Time) bool {
	return p.Interval > 0 && now.Sub(p.ReportedAt) > p.Interval*5/2
}

// queuesView is the lanes with their tenants.
type queuesView struct {
	Object  string      `json:"object"`
	At      time.Time   `json:"at" about:"The time of the figures."`
	Current bool        `json:"current" about:"The figures were read lately; if not, they are zero."`
	Slots   int         `json:"slots" about:"Slots that the queue needs, over all processes."`
	Workers int         `json:"workers" about:"Processes as large as the process that answers that the queue needs."`
	Lanes   []laneQueue `json:"lanes" about:"Most urgent first."`
}

// laneQueue is a lane with its tenants and its pause.
type laneQueue struct {
	backlog.LaneShares
	Control *controlView `json:"control" about:"Its pause or drain; null for none."`
}

func (c reports) queues() error {
	load := c.Load()
	current := c.Config.Current()
	shares := c.Shares(func(id penstock.TenantID) int {
		if t, ok := c.Directory.Tenant(id); ok {
			return max(t.Weight, 1)
		}
		return max(current.Tenants[id].Weight, 1)
	})
	v := queuesView{Object: "queues", At: load.At, Current: load.Current, Slots: load.Slots, Workers: load.Workers, Lanes: make([]laneQueue, len(shares))}
	for i, lane := range shares {
		v.Lanes[i] = laneQueue{LaneShares: lane, Control: c.control(store.ControlLane, lane.Name)}
	}
	return c.JSON(http.StatusOK, v)
}

// control is the pause of a lane or a target, nil for none.
func (c reports) control(kind store.ControlKind, name string) *controlView {
	paused, ok := c.Paused.Paused(kind, name)
	if !ok {
		return nil
	}
	v := newControlView(paused)
	return &v
}

// targetView is a target with its load.
type targetView struct {
	Object        string   `json:"object"`
	Provider      string   `json:"provider"`
	Vendor        string   `json:"vendor"`
	UpstreamModel string   `json:"upstream_model"`
	Region        string   `json:"region"`
	Models        []string `json:"models" about:"The models that it serves."`
	backlog.TargetLoad
	Recent       rollup.TargetFigures `json:"recent" about:"Attempts of the last 15 minutes, over all processes."`
	TotalRunning int                  `json:"total_running" about:"Calls that run in all processes."`
	Price        *targetPrice         `json:"price" about:"null for a target without a price."`
	PriceSource  string               `json:"price_source" about:"configuration, or the catalogue that the price comes from."`
	Control      *controlView         `json:"control" about:"Its pause or drain; null for none."`
}

// targetPrice is a price in dollars per million tokens.
type targetPrice struct {
	Input       string `json:"input"`
	CachedInput string `json:"cached_input"`
	Output      string `json:"output"`
	PerRequest  string `json:"per_request" about:"In dollars, besides the tokens."`
}

func newTargetPrice(t *penstock.Target) *targetPrice {
	if t.Unpriced {
		return nil
	}
	return &targetPrice{Input: t.Price.Input.String(), CachedInput: t.Price.CachedInput.String(), Output: t.Price.Output.String(), PerRequest: t.Price.PerRequest.String()}
}

func (c reports) targets() error {
	processes, err := c.Processes(c.R.Context())
	if err != nil {
		return err
	}
	recent, err := c.Recent(c.R.Context())
	if err != nil {
		return err
	}
	running := map[string]int{}
	for _, p := range processes {
		for target, n := range p.Running {
			running[target] += n
		}
	}
	current, load := c.Config.Current(), map[string]backlog.TargetLoad{}
	for _, t := range c.Load().Targets {
		load[t.Name] = t
	}
	models := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(current.Models)) {
		for _, target := range current.Models[name].Targets {
			models[target] = append(models[target], name)
		}
	}
	page := rest.Page[targetView]{Object: "list", Data: []targetView{}}
	for _, name := range slices.Sorted(maps.Keys(current.Targets)) {
		t := current.Targets[name]
		v := targetView{
			Object: "target", Provider: t.Provider, Vendor: t.Vendor, UpstreamModel: t.UpstreamModel, Region: t.Region, Models: models[name], TargetLoad: load[name],
			Recent: recent[name], TotalRunning: running[name], Price: newTargetPrice(t), PriceSource: cmp.Or(t.PriceSource, "configuration"), Control: c.control(store.ControlTarget, name),
		}
		if v.Name == "" { // it was not called yet
			v.TargetLoad = backlog.TargetLoad{Name: name, State: backlog.TargetOpen, Permits: t.Concurrency, Limits: []backlog.TargetRate{}}
		}
		if v.Models == nil {
			v.Models = []string{}
		}
		if v.Control != nil {
			v.State = backlog.TargetPaused
		}
		page.Data = append(page.Data, v)
	}
	return c.JSON(http.StatusOK, page)
}
