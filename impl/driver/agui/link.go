package agui

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	wire "a2aserve/gen/agui"

	"github.com/coder/websocket"
	"github.com/go-json-experiment/json"
	"golang.org/x/time/rate"
)

// ControlPath is where a control link is opened.
const ControlPath = "/control"

// Control is a link that a Nexus agent opens to us: its plugin nexus.io.broker takes the
// driver for a broker. All that goes over it is the request to stop a turn, which AG-UI
// has no words for; what the agent tells a broker is read and dropped.
type Control struct {
	Bind    string // host:port to listen on
	LeaseID string // what both sides call the link
	Secret  string // what the agent proves itself with
}

const (
	registerTimeout = 10 * time.Second // from a connection to its first frame
	registerBytes   = 4 << 10          // bound of that frame
	maxStrangers    = 8                // connections at once that have not proven themselves
	writeTimeout    = 5 * time.Second
	pingInterval    = 15 * time.Second
)

// link is the control link while the driver listens.
type link struct {
	o      Control
	log    *slog.Logger
	noise  rate.Sometimes // bounds what strangers make us log
	server *http.Server
	addr   net.Addr
	ctx    context.Context // of all connections
	stop   context.CancelFunc
	done   sync.WaitGroup // the server's goroutine and the handlers

	mu        sync.Mutex      // guards what follows
	conn      *websocket.Conn // the agent's; nil: it is not connected
	strangers int
	closed    bool
}

// Listen opens the control link, if there is to be one. Close ends it.
func (d *Driver) Listen(ctx context.Context) error {
	if d.o.Control == nil {
		return nil
	}
	l := &link{o: *d.o.Control, log: d.o.Logger, noise: rate.Sometimes{First: 3, Interval: 10 * time.Second}}
	if l.o.Secret == "" {
		return errors.New("the control link needs a secret")
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", l.o.Bind)
	if err != nil {
		return fmt.Errorf("cannot listen for the agent's control link: %w", err)
	}
	l.addr = listener.Addr()
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.server = &http.Server{
		Handler: l, ReadHeaderTimeout: registerTimeout, IdleTimeout: registerTimeout, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(l.log.Handler(), slog.LevelDebug),
	}
	l.done.Go(func() { _ = l.server.Serve(listener) })
	d.link = l
	l.log.Info("waiting for the agent's control link", "address", l.addr.String())
	return nil
}

// ControlAddr is where the control link is listened for; nil: it is not.
func (d *Driver) ControlAddr() net.Addr {
	if d.link == nil {
		return nil
	}
	return d.link.addr
}

func (l *link) close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	_ = l.server.Close()
	l.done.Wait()
}

// ServeHTTP keeps one connection for as long as it lasts. Pages in browsers are refused by
// their Origin.
func (l *link) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != ControlPath {
		http.NotFound(w, r)
		return
	}
	if !l.enter() {
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	defer l.done.Done()
	conn, err := websocket.Accept(w, r, nil)
	if err == nil {
		err = l.register(conn)
		defer func() { _ = conn.CloseNow() }()
	}
	l.mu.Lock()
	l.strangers--
	l.mu.Unlock()
	if err != nil {
		l.noise.Do(func() { l.log.Warn("a control link was refused", "from", r.RemoteAddr, "error", err) })
		return
	}
	l.keep(conn, r.RemoteAddr)
}

// enter counts a connection in, unless the link is closed or too many wait to prove
// themselves.
func (l *link) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.strangers >= maxStrangers {
		return false
	}
	l.strangers++
	l.done.Add(1)
	return true
}

// register reads the first frame, which has to prove who sends it. What was wrong is not
// told to the sender.
func (l *link) register(conn *websocket.Conn) error {
	ctx, cancel := context.WithTimeout(l.ctx, registerTimeout)
	defer cancel()
	conn.SetReadLimit(registerBytes)
	_, data, err := conn.Read(ctx)
	if err != nil {
		return err
	}
	var f wire.ControlFrame
	switch err = json.Unmarshal(data, &f); {
	case err != nil:
		err = errors.New("the first frame is no frame") // the cause may quote a secret
	case f.Version != 1:
		err = fmt.Errorf("version %d of the frames is not known", f.Version)
	case f.Signal != "register":
		err = errors.New("the first frame does not register")
	case !same(f.LeaseID, l.o.LeaseID), !same(f.Secret, l.o.Secret):
		err = errors.New("the lease id or the secret is not ours")
	}
	if err != nil {
		_ = conn.Close(websocket.StatusPolicyViolation, "not registered")
	}
	return err
}

// same takes as long whatever differs.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// keep holds the agent's connection until it ends. A newer one takes its place: of an
// agent that comes back, the connection before may not have ended for us yet.
func (l *link) keep(conn *websocket.Conn, from string) {
	l.mu.Lock()
	before := l.conn
	l.conn = conn
	l.mu.Unlock()
	if before != nil {
		_ = before.CloseNow()
	}
	l.log.Info("the agent's control link is open", "from", from)
	ctx, cancel := context.WithCancel(l.ctx)
	var pinging sync.WaitGroup
	pinging.Go(func() { ping(ctx, conn) })
	conn.SetReadLimit(-1) // nothing of it is kept
	for {
		_, frame, err := conn.Reader(ctx)
		if err == nil {
			_, err = io.Copy(io.Discard, frame)
		}
		if err != nil {
			break
		}
	}
	cancel()
	pinging.Wait()
	l.mu.Lock()
	if l.conn == conn {
		l.conn = nil
		l.log.Warn("the agent's control link has ended")
	}
	l.mu.Unlock()
}

// ping closes a connection whose other end does not answer any more.
func ping(ctx context.Context, conn *websocket.Conn) {
	tick := time.NewTicker(pingInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		wait, cancel := context.WithTimeout(ctx, pingInterval)
		err := conn.Ping(wait)
		cancel()
		if err != nil {
			_ = conn.CloseNow()
			return
		}
	}
}

// open is the agent's connection, or nil.
func (l *link) open() *websocket.Conn {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

// cancel asks the agent to stop its turn, and reports whether that is on its way.
func (l *link) cancel(ctx context.Context, turnID string) bool {
	conn := l.open()
	if conn == nil {
		return false
	}
	payload, err := json.Marshal(wire.ControlCancel{Type: "cancel", TurnID: turnID, Source: "a2a"})
	if err != nil {
		return false
	}
	frame, err := json.Marshal(wire.ControlFrame{Version: 1, LeaseID: l.o.LeaseID, Signal: "io", Payload: payload})
	if err != nil {
		return false
	}
	ctx, stop := context.WithTimeout(ctx, writeTimeout)
	defer stop()
	if err := conn.Write(ctx, websocket.MessageText, frame); err != nil {
		l.log.Warn("the control link broke", "error", err)
		return false
	}
	return true
}
