package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/bench/raw"
	"github.com/evenkeel-go/evenkeel/bench/workload"
	"github.com/evenkeel-go/evenkeel/report"
)

// RunNode is what one primary of a cluster did in a run.
type RunNode struct {
	// Address is where it was reached, and Slots how many of the 16,384 it has.
	Address string `json:"address"`
	Slots   int    `json:"slots"`
	// OK and Failed are requests, and OKPerS OK over the time elapsed.
	OK     int64   `json:"ok"`
	Failed int64   `json:"failed"`
	OKPerS float64 `json:"ok_per_s"`
	// The times of its replies: the response times in open loop, the service times in
	// closed loop.
	P50Us float64 `json:"p50_us"`
	P99Us float64 `json:"p99_us"`
	MaxUs float64 `json:"max_us"`
}

// clusterNode is a primary with the slots that it has.
type clusterNode struct {
	server *server
	slots  slotSet
	count  int
}

// slotSet has a bit for each slot.
type slotSet [workload.Slots / 64]uint64

func (s *slotSet) add(slot int) { s[slot/64] |= 1 << (slot % 64) }

func (s *slotSet) has(slot uint16) bool { return s[slot/64]>>(slot%64)&1 == 1 }

// openNodes asks a node of a cluster for all primaries, and connects to them.
func openNodes(ctx context.Context, s *server, o RunOptions, plan *workload.Plan) ([]*clusterNode, error) {
	r, err := s.watch.do(ctx, "CLUSTER", "SLOTS")
	if err != nil {
		if evenkeel.ServerSaid(err) {
			return nil, fmt.Errorf("the server is no node of a cluster, or does not say so (%w); leave out --cluster", err)
		}
		return nil, err
	}
	host, _, err := net.SplitHostPort(s.target.Address)
	if err != nil {
		host = "" // a unix socket
	}
	found, err := parseSlots(r, host)
	if err != nil {
		return nil, err
	}
	var nodes []*clusterNode
	closeAll := func(err error) error {
		for _, n := range nodes {
			if n.server != s {
				err = errors.Join(err, n.server.close())
			}
		}
		return err
	}
	for _, f := range found {
		n := &clusterNode{server: s, slots: f.slots, count: f.count}
		if f.addr != s.target.Address {
			t := s.target
			t.Network, t.Address = "tcp", f.addr
			share := o
			share.Conns = max(1, o.Conns*f.count/workload.Slots)
			if n.server, err = openServer(ctx, t, wants{plan: share.Plan(), disturb: o.Disturb, blind: o.Disturb, cluster: true, progress: o.Progress}); err != nil {
				return nil, closeAll(fmt.Errorf("the node at %s, as the cluster announces it, cannot be used: %w", f.addr, err))
			}
		}
		nodes = append(nodes, n)
	}
	if !slices.ContainsFunc(nodes, func(n *clusterNode) bool { return n.server == s }) {
		// It is a replica, or known by another name: its watcher is not needed beside theirs.
		if err := s.watch.close(); err != nil {
			return nil, closeAll(err)
		}
		*s = *nodes[0].server
		nodes[0].server = s
	}
	if o.Conns < len(nodes) {
		return nil, closeAll(&OptionError{Option: "conns", Problem: fmt.Sprintf("%d is fewer than the cluster has primaries; give %d or more", o.Conns, len(nodes))})
	}
	if _, err := plan.StreamForSlots(workload.Slice{Seed: 1, Count: 1}, nodes[0].slots.has); err != nil {
		return nil, closeAll(err)
	}
	return nodes, nil
}

// slotOwner is a primary as a cluster announces it.
type slotOwner struct {
	addr  string
	slots slotSet
	count int
}

// parseSlots reads CLUSTER SLOTS: for each range of slots its first and last, then the
// primary (host, port, …) and its replicas. host is for nodes that do not know their own.
func parseSlots(r evenkeel.Reply, host string) ([]*slotOwner, error) {
	ranges, err := r.Slice()
	if err != nil {
		return nil, fmt.Errorf("CLUSTER SLOTS: %w", err)
	}
	var owners []*slotOwner
	covered := 0
	for _, entry := range ranges {
		fields, err := entry.Slice()
		if err != nil || len(fields) < 3 {
			return nil, errors.New("CLUSTER SLOTS answered what is no range of slots")
		}
		first, err1 := fields[0].Int()
		last, err2 := fields[1].Int()
		node, err3 := fields[2].Slice()
		if err := errors.Join(err1, err2, err3); err != nil || len(node) < 2 || first < 0 || last < first || last >= workload.Slots {
			return nil, errors.New("CLUSTER SLOTS answered what is no range of slots")
		}
		name, err := node[0].Text()
		if errors.Is(err, evenkeel.ErrNil) || name == "" || name == "?" {
			name = host
		}
		port, err := node[1].Int()
		if err != nil || name == "" {
			return nil, errors.New("the cluster does not announce the address of a node; set its cluster-announce-ip, or connect by TCP")
		}
		addr := net.JoinHostPort(name, strconv.FormatInt(port, 10))
		at := slices.IndexFunc(owners, func(o *slotOwner) bool { return o.addr == addr })
		if at < 0 {
			at = len(owners)
			owners = append(owners, &slotOwner{addr: addr})
		}
		for slot := first; slot <= last; slot++ {
			if !owners[at].slots.has(uint16(slot)) {
				owners[at].slots.add(int(slot))
				owners[at].count++
				covered++
			}
		}
	}
	switch {
	case covered < workload.Slots:
		return nil, fmt.Errorf("%s of the cluster have no node; repair it first ('redis-cli --cluster check')", report.Plural(workload.Slots-covered, "slot", "slots"))
	case covered > workload.Slots:
		return nil, errors.New("CLUSTER SLOTS gives some slots to two nodes; ask again when the cluster has settled")
	}
	return owners, nil
}

// servers are all that the run loads.
func (r *runRun) servers() []*server {
	if r.nodes == nil {
		return []*server{r.server}
	}
	out := make([]*server, len(r.nodes))
	for i, n := range r.nodes {
		out[i] = n.server
	}
	return out
}

// shares divides a total among the nodes by their slots, with at least so many for each.
func (r *runRun) shares(total, least int64) []int64 {
	out := make([]int64, len(r.nodes))
	before, slots := int64(0), int64(0)
	for i, n := range r.nodes {
		slots += int64(n.count)
		upTo := total * slots / workload.Slots
		out[i] = upTo - before
		before = upTo
	}
	for i := range out { // what is missing comes from those that have most
		for out[i] < least {
			most := 0
			for k := range out {
				if out[k] > out[most] {
					most = k
				}
			}
			if out[most] <= least {
				out[i] = least // there is not enough for all
				break
			}
			out[most]--
			out[i]++
		}
	}
	return out
}

// fits checks the conns against the limits of all nodes.
func (r *runRun) fits(ctx context.Context, conns int) error {
	if r.nodes == nil {
		return r.server.fits(ctx, conns+1)
	}
	for i, n := range r.shares(int64(conns), 1) {
		if err := r.nodes[i].server.fits(ctx, int(n)+1); err != nil {
			return fmt.Errorf("%s: %w", r.nodes[i].server.target.Address, err)
		}
	}
	return nil
}

// tally is what all nodes have counted so far.
func (r *runRun) tally(ctx context.Context) (sum serverTally, err error) {
	for i, s := range r.servers() {
		t, err := s.tally(ctx)
		if err != nil {
			return sum, err
		}
		if i == 0 {
			sum = t
			continue
		}
		sum.commands += t.commands
		sum.conns += t.conns
		sum.rejected += t.rejected
		sum.evicted += t.evicted
		sum.expired += t.expired
		sum.used += t.used
		if sum.cpu != nil && t.cpu != nil {
			both := *sum.cpu + *t.cpu
			sum.cpu = &both
		} else {
			sum.cpu = nil
		}
	}
	return sum, nil
}

// remove deletes keys, on the nodes that have them.
func (r *runRun) remove(ctx context.Context, keys []string) error {
	if r.nodes == nil {
		return r.server.watch.remove(ctx, keys)
	}
	for _, key := range keys { // one at a time: a node takes no two of different slots
		for _, n := range r.nodes {
			if n.slots.has(workload.Slot([]byte(key))) {
				if err := n.server.watch.remove(ctx, []string{key}); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// send runs a load, on all nodes at the same time.
func (r *runRun) send(ctx context.Context, cfg raw.Config, stream func(workload.Slice, *clusterNode) raw.Stream) (*raw.Result, error) {
	streams := func(n *clusterNode) func(worker, workers int) raw.Stream {
		return func(worker, workers int) raw.Stream {
			return stream(workload.Slice{Seed: r.options.Seed, Index: worker, Count: workers}, n)
		}
	}
	if r.nodes == nil {
		cfg.Streams = streams(nil)
		return raw.Run(ctx, cfg)
	}
	conns, workers := r.shares(int64(cfg.Conns), 1), r.shares(int64(cfg.Workers), 1)
	requests := r.shares(cfg.Requests, 0)
	joiner := raw.NewJoiner(len(r.nodes), func(i *raw.Interval) {
		if cfg.OnInterval != nil {
			cfg.OnInterval(i)
		}
	})
	results, errs := make([]*raw.Result, len(r.nodes)), make([]error, len(r.nodes))
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	ready := newBarrier(len(r.nodes))
	begin := sync.OnceValue(func() error {
		if cfg.Ready == nil {
			return nil
		}
		return cfg.Ready(running)
	})
	var group sync.WaitGroup
	for i, n := range r.nodes {
		part := cfg
		part.Dial, part.Hello, part.HelloReplies = n.server.socket(r.options.RESP3, r.options.Greeting)
		part.Streams = streams(n)
		part.Conns, part.Workers = int(conns[i]), int(min(workers[i], conns[i]))
		part.Rate = cfg.Rate * float64(n.count) / workload.Slots
		part.OnInterval = func(of *raw.Interval) { joiner.Add(i, of) }
		part.Ready = func(ctx context.Context) error {
			if err := ready.wait(ctx); err != nil {
				return err
			}
			return begin()
		}
		part.Seed += uint64(i)
		if part.Requests = requests[i]; part.Requests == 0 && cfg.Requests > 0 {
			ready.arrive() // too few requests for all nodes: the others do not wait for it
			joiner.End(i)
			continue
		}
		group.Go(func() {
			defer joiner.End(i)
			results[i], errs[i] = raw.Run(running, part)
			if errs[i] != nil {
				cancel()
			}
		})
	}
	group.Wait()
	return r.together(ctx, results, errs)
}

// together makes one result of those of the nodes.
func (r *runRun) together(ctx context.Context, results []*raw.Result, errs []error) (*raw.Result, error) {
	var first error
	for i, err := range errs {
		// Those that were cancelled because of another are not the cause.
		if err != nil && (first == nil || errors.Is(first, context.Canceled)) {
			if first = err; ctx.Err() == nil {
				first = fmt.Errorf("%s: %w", r.nodes[i].server.target.Address, err)
			}
		}
	}
	var found []*raw.Result
	r.rows = nil
	for i, res := range results {
		if res == nil {
			continue
		}
		h := res.Times()
		r.rows = append(r.rows, RunNode{
			Address: r.nodes[i].server.target.Address, Slots: r.nodes[i].count, OK: res.OK(), Failed: res.Failed(),
			OKPerS: float64(res.OK()) / max(res.Elapsed.Seconds(), 1e-9),
			P50Us:  micros(h.Quantile(0.5)), P99Us: micros(h.Quantile(0.99)), MaxUs: micros(h.Max()),
		})
		found = append(found, res)
	}
	if len(found) < len(results) && first != nil || len(found) == 0 {
		return nil, first
	}
	return raw.Merge(found), first
}

// barrier lets several go on together.
type barrier struct {
	mu      sync.Mutex
	missing int
	open    chan struct{}
}

func newBarrier(n int) *barrier { return &barrier{missing: n, open: make(chan struct{})} }

// arrive says that one is there, without waiting for the others.
func (b *barrier) arrive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.missing--; b.missing == 0 {
		close(b.open)
	}
}

// wait returns when all are there.
func (b *barrier) wait(ctx context.Context) error {
	b.arrive()
	select {
	case <-b.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// clusterLook bounds the question whether a server is a node of a cluster.
const clusterLook = 2 * time.Second

// refuseNode refuses a node of a cluster of several: most keys are other nodes'.
func (s *server) refuseNode(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clusterLook)
	defer cancel()
	fields, err := s.watch.info(ctx, "cluster")
	if err != nil || fields["cluster_enabled"] != "1" {
		return nil // where INFO is forbidden there is nothing to be known
	}
	r, err := s.watch.do(ctx, "CLUSTER", "INFO")
	if err != nil {
		return nil
	}
	text, _ := r.Text()
	if n, err := strconv.Atoi(parseFields(text)["cluster_size"]); err == nil && n > 1 {
		return fmt.Errorf("the server is a node of a cluster with %d primaries, and most keys are other nodes': --cluster loads all of them "+
			"(bench run, slo, compare, and redis-benchmark's flags); other experiments need a server that is no cluster", n)
	}
	return nil
}

func (r *RunResult) nodesSection() report.Section {
	t := report.Table{Columns: []report.Column{
		{Name: "node", Text: true},
		{Name: "slots"},
		{Name: "answered", Unit: "1/s"},
		{Name: "answered"},
		{Name: "failed"},
		{Name: "p50", Unit: "µs"},
		{Name: "p99", Unit: "µs"},
		{Name: "max", Unit: "µs"},
	}}
	for _, n := range r.Nodes {
		t.Rows = append(t.Rows, []string{
			n.Address, report.Int(n.Slots), report.Fixed(n.OKPerS, 0), report.Int(n.OK), report.Int(n.Failed),
			report.Fixed(n.P50Us, 1), report.Fixed(n.P99Us, 1), report.Fixed(n.MaxUs, 1),
		})
	}
	return report.Section{Heading: "Nodes", Tables: []report.Table{t}}
}
