package bench

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/evenkeel-go/evenkeel"
)

const (
	stormValueSize = 100
	stormKeyTTL    = 10 * time.Minute
	// stormRetryPause is how long a caller that failed before its deadline waits
	// until it calls again: as a patient program would.
	stormRetryPause = 10 * time.Millisecond
)

// stormPhases are the phases by number.
func stormPhases() [3]string { return [3]string{PhaseBefore, PhaseDuring, PhaseAfter} }

// stormLoad is the callers. Each sets and gets its own key in turn, and knows
// what must come back.
type stormLoad struct {
	client *evenkeel.Client
	o      StormOptions
	phase  atomic.Int32 // number of the phase that calls are booked under

	ok, failed atomic.Int64 // all calls so far

	life    context.Context //nolint:containedctx // ends the pauses of callers
	end     context.CancelFunc
	wg      sync.WaitGroup
	callers []stormCaller
}

// stormCaller is one caller and what became of its calls, by phase.
type stormCaller struct {
	key, value string
	ok         [3]int64
	failed     [3]map[string]int64
	late       [3][]time.Duration // of calls that returned past their deadlines
}

func stormKey(i int) string { return KeyPrefix + "storm:" + strconv.Itoa(i) }

func newStormLoad(client *evenkeel.Client, o StormOptions) *stormLoad {
	l := &stormLoad{client: client, o: o, callers: make([]stormCaller, o.Callers)}
	l.life, l.end = context.WithCancel(context.Background())
	for i := range l.callers {
		c := &l.callers[i]
		c.key = stormKey(i)
		c.value = strings.Repeat(c.key+" ", stormValueSize/len(c.key))
		for p := range c.failed {
			c.failed[p] = map[string]int64{}
		}
	}
	return l
}

// start sets the callers off, and returns the moment before that.
func (l *stormLoad) start() time.Time {
	begin := time.Now()
	for i := range l.callers {
		c := &l.callers[i]
		l.wg.Go(func() { l.call(c) })
	}
	return begin
}

// stop has the callers end after the call they are in, and waits for them.
func (l *stormLoad) stop() {
	l.end()
	l.wg.Wait()
}

func (l *stormLoad) call(c *stormCaller) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	<-pause.C
	written := false
	for l.life.Err() == nil {
		phase := l.phase.Load()
		deadline := time.Now().Add(l.o.Timeout)
		// Not under life: a call that the end of the run cut short would count as failed.
		ctx, cancel := context.WithDeadline(context.Background(), deadline)
		err := l.once(ctx, c, &written)
		cancel()
		late := time.Since(deadline)
		if late > 0 {
			c.late[phase] = append(c.late[phase], late)
		}
		if err == nil {
			c.ok[phase]++
			l.ok.Add(1)
			continue
		}
		c.failed[phase][failureKind(err)]++
		l.failed.Add(1)
		if late < 0 {
			pause.Reset(min(stormRetryPause, l.o.Timeout))
			select {
			case <-pause.C:
			case <-l.life.Done():
			}
		}
	}
}

var errWrongReply = errors.New("a reply that belongs to another call")

// once is one call: a SET, or the GET of what was set.
func (l *stormLoad) once(ctx context.Context, c *stormCaller, written *bool) error {
	if !*written {
		err := l.do(ctx, "SET", c.key, c.value, "PX", stormKeyTTL.Milliseconds()).Err()
		*written = err == nil
		return err
	}
	got, err := l.do(ctx, "GET", c.key).Text()
	if err == nil && got != c.value {
		err = errWrongReply
	}
	*written = err != nil
	return err
}

func (l *stormLoad) do(ctx context.Context, args ...any) evenkeel.Reply {
	if l.o.Lane == LaneShared {
		return l.client.Do(ctx, args...)
	}
	return l.client.DoExclusive(ctx, args...)
}

// failureKind names a failure, coarsely enough to be counted.
func failureKind(err error) string {
	if said, ok := errors.AsType[*evenkeel.ServerError](err); ok {
		return "server: " + said.Code
	}
	switch {
	case errors.Is(err, errWrongReply):
		return "wrong reply"
	case errors.Is(err, evenkeel.ErrNil):
		return "key gone"
	case errors.Is(err, evenkeel.ErrEndpointDown):
		return "told at once: endpoint down"
	case errors.Is(err, evenkeel.ErrStalled):
		return "conn given up as stalled"
	case errors.Is(err, evenkeel.ErrAcquireTimeout):
		return "deadline: no conn came free"
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline"
	case evenkeel.MayHaveRun(err):
		return "conn failed, may have run"
	default:
		return "conn failed, did not run"
	}
}
