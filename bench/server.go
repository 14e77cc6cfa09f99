package bench

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/evenkeel-go/evenkeel"
	"github.com/evenkeel-go/evenkeel/evenkeeltest"
)

const (
	// clientName is what CLIENT LIST shows of an experiment's conns.
	clientName = "evenkeel-bench"
	// privateUser is the user of a private server who has a password. Its default
	// user has none, so that one server serves the rows with and without.
	privateUser = "bench"
	// closeTimeout bounds what is still done after a run has ended or was
	// cancelled: the last count, the clean-up, closing conns.
	closeTimeout = 2 * time.Second
)

// server is what an experiment runs against, with the conn that watches it.
type server struct {
	env   Environment
	watch *watcher

	target   Target // of a given server, else zero
	addr     string // of a private or embedded one
	private  *evenkeeltest.Server
	release  context.CancelFunc // of private's context
	embedded EmbeddedServer
	password string // of privateUser
}

// wants is what an experiment asks of its server.
type wants struct {
	plan      Plan
	disturb   bool
	blind     bool                  // it can do without the server's counts
	cluster   bool                  // a node of a cluster is welcome
	auth, tls bool                  // of a private server, where it can
	options   []evenkeeltest.Option // of a private server, besides
	progress  Progress
}

// openServer connects to the target, or starts a private server. It refuses a
// given server that the plan would disturb.
func openServer(ctx context.Context, t Target, w wants) (*server, error) {
	s := &server{env: NewEnvironment(time.Now()), target: t}
	if !t.Private() {
		s.env.ServerKind, s.env.Address = ServerGiven, t.String()
		if err := s.connect(ctx, w.blind); err != nil {
			return nil, err
		}
		if !w.cluster {
			if err := s.refuseNode(ctx); err != nil {
				return nil, errors.Join(err, s.close())
			}
		}
		if err := s.admit(ctx, w); err != nil {
			return nil, errors.Join(err, s.close())
		}
		return s, nil
	}
	s.env.ServerKind = ServerPrivate
	if err := s.launch(ctx, w); err != nil {
		return nil, err
	}
	if err := s.connect(ctx, false); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// openEmbedded uses a server in this process.
func openEmbedded(ctx context.Context, start func() (EmbeddedServer, error)) (*server, error) {
	e, err := start()
	if err != nil {
		return nil, fmt.Errorf("start the embedded server: %w", err)
	}
	s := &server{env: NewEnvironment(time.Now()), embedded: e, addr: e.Addr()}
	s.env.ServerKind, s.env.Server = ServerEmbedded, e.Name()
	if err := s.connect(ctx, false); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// launch starts a private server. It outlives the context, which only cancels the
// start: an experiment that is cut short still asks for its last counts.
func (s *server) launch(ctx context.Context, w wants) error {
	starting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.release = cancel
	detach := context.AfterFunc(ctx, cancel)
	defer detach()
	s.password = rand.Text()
	var options []evenkeeltest.Option
	if w.auth {
		options = append(options, evenkeeltest.WithACLUser(privateUser, s.password))
	}
	if conns := w.plan.Conns + 1000; conns > 10_000 {
		options = append(options, evenkeeltest.WithMaxClients(conns))
	}
	options = append(options, w.options...)
	var err error
	if w.tls {
		s.private, err = evenkeeltest.Launch(starting, append(options, evenkeeltest.WithTLS())...)
		if err != nil && !errors.Is(err, evenkeeltest.ErrNoServer) && ctx.Err() == nil {
			w.progress.Send(Event{Note: "this server program has no TLS: its rows are left out"})
			s.private, err = evenkeeltest.Launch(starting, options...)
		}
	} else {
		s.private, err = evenkeeltest.Launch(starting, options...)
	}
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), s.close())
	case err != nil:
		cancel()
		return fmt.Errorf("start a private server: %w", err)
	}
	s.addr = s.private.Addr()
	return nil
}

// connect opens the watcher's conn and learns what the server is.
func (s *server) connect(ctx context.Context, blind bool) error {
	cfg := s.config(false, false)
	cfg.ClientName = clientName
	w, info, err := newWatcher(ctx, cfg, s.embedded, blind)
	if err != nil {
		return err
	}
	s.watch = w
	if s.embedded == nil {
		s.env.Server, s.env.ServerVersion = w.software(ctx, info)
		s.env.ServerConfig = w.settings(ctx)
	}
	return nil
}

// config is a client's Config for the server: its endpoint, its credentials, and
// defaults. A given server decides itself about password and TLS.
func (s *server) config(auth, encrypted bool) evenkeel.Config {
	var cfg evenkeel.Config
	switch {
	case !s.target.Private():
		cfg = s.target.config()
	case encrypted:
		cfg = evenkeel.DefaultConfig(s.private.TLSAddr())
		setTLS(&cfg, s.private.TLSConfig())
	default:
		cfg = evenkeel.DefaultConfig(s.addr)
	}
	if auth && s.target.Private() {
		cfg.Username, cfg.Password = privateUser, s.password
	}
	// One call is one attempt, and speaks through its error alone.
	cfg.MaxRetries = 0
	cfg.Logger = slog.New(slog.DiscardHandler)
	// Of its own, so that one experiment's failures do not slow the next.
	cfg.Governor = evenkeel.NewGovernor(0)
	return cfg
}

func setTLS(cfg *evenkeel.Config, c *tls.Config) {
	cfg.TLS, cfg.DialTimeout = c, evenkeel.DefaultDialTimeoutTLS
}

// hasTLS reports whether the private server can be spoken to in TLS.
func (s *server) hasTLS() bool { return s.private != nil && s.private.TLSAddr() != "" }

// lanes sets the lanes of a Config, and the limit to their sum.
func lanes(cfg *evenkeel.Config, shared, size, overflow int) {
	cfg.SharedConns, cfg.Size, cfg.Overflow, cfg.MaxBlocking = shared, size, overflow, 0
	cfg.MaxConns = shared + 1 + size + overflow
}

// close ends the watcher's conn and a server that was started.
func (s *server) close() error {
	var errs []error
	if s.watch != nil {
		errs = append(errs, s.watch.close())
	}
	if s.private != nil {
		errs = append(errs, s.private.Close())
	}
	if s.release != nil {
		s.release()
	}
	if s.embedded != nil {
		errs = append(errs, s.embedded.Close())
	}
	return errors.Join(errs...)
}

// afterwards is a context for what must still be done when a run's own has ended.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
}

// lastLook is ctx itself, or when it has ended a context for one more count.
func lastLook(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return afterwards(ctx)
	}
	return context.WithCancel(ctx)
}
