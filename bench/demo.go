package bench

import (
	"context"
	"errors"

	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

// Demo runs all experiments, in small, on one private server, and says what the
// numbers speak for. Without a server program it uses the embedded server, and then
// runs only what counts rather than times. Cancelled, it returns what it has
// together with the context's error.
func Demo(ctx context.Context, o DemoOptions) (*DemoResult, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s, err := o.openServer(ctx)
	if err != nil {
		return nil, err
	}
	if s.embedded != nil {
		o.Progress.Send(Event{Note: "using a server inside this process (" + s.embedded.Name() + "): counts are shown rather than times, which would mislead"})
		o.forEmbedded()
	}
	r := NewDemoResult(s.env)
	err = o.run(ctx, s, r)
	r.Interrupted = ctx.Err() != nil
	r.Suggest()
	return r, errors.Join(err, s.close())
}

func (o DemoOptions) openServer(ctx context.Context) (*server, error) {
	if o.Embedded {
		return openEmbedded(ctx, o.StartEmbedded)
	}
	s, err := openServer(ctx, Target{}, wants{plan: o.Plan(), auth: o.Connect.Auth, tls: o.Connect.TLS, progress: o.Progress})
	if errors.Is(err, evenkeeltest.ErrNoServer) && o.StartEmbedded != nil {
		o.Progress.Send(Event{Note: "neither redis-server nor valkey-server is on the PATH"})
		return openEmbedded(ctx, o.StartEmbedded)
	}
	return s, err
}

func (o DemoOptions) run(ctx context.Context, s *server, r *DemoResult) (err error) {
	o.Connect.Progress = o.Progress.under("connect")
	if r.Connect, err = connectOn(ctx, s, o.Connect); err != nil {
		return err
	}
	o.Churn.Progress = o.Progress.under("churn")
	if r.Churn, err = churnOn(ctx, s, o.Churn, false); err != nil {
		return err
	}
	if s.embedded != nil {
		return nil
	}
	o.Depth.Progress = o.Progress.under("pipelining")
	if r.Depth, err = depthOn(ctx, s, o.Depth); err != nil {
		return err
	}
	o.PoolSize.Progress = o.Progress.under("pool size")
	r.PoolSize, err = poolSizeOn(ctx, s, o.PoolSize)
	return err
}

// under names the experiment before each phase.
func (p Progress) under(name string) Progress {
	if p == nil {
		return nil
	}
	return func(e Event) {
		if e.Phase != "" {
			e.Phase = name + ": " + e.Phase
		}
		p(e)
	}
}
