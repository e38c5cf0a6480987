package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxAnswer bounds what is read of a provider's answer, in bytes.
const maxAnswer = 1 << 20

// DefaultHTTPTimeout is how long a provider may take for an answer.
const DefaultHTTPTimeout = 5 * time.Second

var (
	errClosed   = errors.New("the server is closing")
	errTooLarge = fmt.Errorf("the provider's answer is larger than %d bytes", maxAnswer)
	errRedirect = errors.New("the provider redirects to another address, which is not followed")
)

// provider asks one identity provider. What it runs outlives the request that caused it,
// since others wait for the same answer; close waits for it.
type provider struct {
	client  *http.Client
	timeout time.Duration
	name    string // for the log
	log     *slog.Logger
	failing atomic.Bool

	ctx    context.Context // ends with close
	cancel context.CancelFunc
	mu     sync.Mutex // guards closed, and running against it
	closed bool
	runs   sync.WaitGroup
}

func newProvider(name string, timeout time.Duration, log *slog.Logger) *provider {
	if timeout <= 0 {
		timeout = DefaultHTTPTimeout
	}
	if log == nil {
		log = slog.Default()
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = 64 << 10
	p := &provider{client: &http.Client{Transport: t, CheckRedirect: redirect}, timeout: timeout, name: name, log: log}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// redirect keeps a request where it was meant to go. A request with a body carries
// credentials and goes nowhere else at all.
func redirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	if first.Method != http.MethodGet || next.URL.Scheme != first.URL.Scheme || next.URL.Host != first.URL.Host || len(via) > 3 {
		return errRedirect
	}
	return nil
}

// run calls f unless the provider is closed, and has close wait for it.
func (p *provider) run(f func(context.Context) error) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return errClosed
	}
	p.runs.Add(1)
	p.mu.Unlock()
	defer p.runs.Done()
	ctx, cancel := context.WithTimeout(p.ctx, p.timeout)
	defer cancel()
	return p.report(f(ctx))
}

// report logs a provider that fails, and one that no longer does, once each: requests
// that cannot be answered because of it are many.
func (p *provider) report(err error) error {
	switch {
	case p.ctx.Err() != nil:
	case err != nil && !p.failing.Swap(true):
		p.log.Warn("the identity provider cannot be asked; callers get 503 meanwhile", "validator", p.name, "error", err)
	case err == nil && p.failing.Swap(false):
		p.log.Info("the identity provider answers again", "validator", p.name)
	}
	return err
}

// do sends a request and reads the answer, of whatever status.
func (p *provider) do(r *http.Request) (status int, body []byte, err error) {
	r.Header.Set("Accept", "application/json")
	res, err := p.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err != nil {
		return 0, nil, err
	}
	if len(body) > maxAnswer {
		return 0, nil, errTooLarge
	}
	return res.StatusCode, body, nil
}

func (p *provider) get(ctx context.Context, address string) (int, []byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, nil, err
	}
	return p.do(r)
}

func (p *provider) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.cancel()
	p.runs.Wait()
	p.client.CloseIdleConnections()
}

// CheckURL wants an address that credentials and keys may travel to and from: https, or
// http on this machine, and no password in it.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Hostname() == "":
		return errors.New("must be an absolute URL")
	case u.User != nil:
		return errors.New("must not hold a user or a password")
	case u.Fragment != "":
		return errors.New("must not have a fragment")
	case u.Scheme == "https" || u.Scheme == "http" && thisMachine(u.Hostname()):
		return nil
	}
	return errors.New("must be https, or http to a loopback address")
}

func thisMachine(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

// peer is the other end of a request's connection, zones and IPv4 in IPv6 taken off.
func peer(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	ip, _ := netip.ParseAddr(host) // invalid where there is none
	return ip.Unmap().WithZone("")
}
