package app

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"a2aserve/impl/card"
	"a2aserve/impl/config"
)

// probe lets a server find out whether an address leads to itself. Only the process that
// made the question has the answer, and only this question gets it, so nothing is told to
// anybody else. It stands before identity: a self-check needs no credentials.
type probe struct{ question, answer string }

// probeHeader carries question and answer.
const probeHeader = "A2aserve-Probe"

func newProbe() probe { return probe{rand.Text(), rand.Text()} }

// answered reports whether a request was the question, which it has answered then.
func (p probe) answered(w http.ResponseWriter, r *http.Request) bool {
	asked := r.Header.Get(probeHeader)
	if p.question == "" || subtle.ConstantTimeCompare([]byte(asked), []byte(p.question)) == 0 {
		return false
	}
	w.Header().Set(probeHeader, p.answer)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// probeTimeout bounds one request, and probePauses are how long to wait before each try:
// a proxy may send nothing here until it has seen this server answer.
const probeTimeout = 5 * time.Second

var probePauses = []time.Duration{0, 2 * time.Second, 10 * time.Second}

// checkAddresses asks every address in the card for the server itself, and logs what a
// client would meet there. It keeps nothing from running: a server may well be unable to
// reach its own public address, which only looks like a mistake from inside.
func (a *App) checkAddresses(ctx context.Context) {
	g := a.current.Load()
	base := g.url()
	if g.cfg.PublicURL == "" && config.Wildcard(a.listener.Addr().String()) {
		a.log.Debug("the Agent Card names the address that each caller uses; there is none to be checked")
		return
	}
	var own *tls.Config
	if g.tls != nil {
		own = g.tls.Own() // an authority of the operator's own is no mistake
	}
	client := &http.Client{
		Timeout:       probeTimeout,
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: own},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	// The verbs are those that clients use: a proxy may let no other through.
	missed := []advertised{
		{"GET", base + card.Path, g.card.ETag()},
		{"POST", base + g.cfg.JSONRPCPath, ""},
		{"GET", base + g.cfg.RESTPrefix + "/tasks", ""},
	}
	var why []error
	for _, pause := range probePauses {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		missed, why = a.probe.unreached(ctx, client, missed)
		if len(missed) == 0 {
			a.log.Info("the addresses in the Agent Card lead here", "url", base)
			return
		}
	}
	if ctx.Err() != nil {
		return
	}
	for i, m := range missed {
		a.log.Warn("the Agent Card names an address at which this server does not find itself; if clients cannot use it either, mend public_url or the proxy in front", "url", m.url, "error", why[i])
	}
}

// advertised is an address that clients are told.
type advertised struct{ method, url, etag string }

// unreached tries the addresses and returns those that do not lead here.
func (p probe) unreached(ctx context.Context, client *http.Client, all []advertised) (missed []advertised, why []error) {
	for _, at := range all {
		if err := p.ask(ctx, client, at); err != nil {
			missed, why = append(missed, at), append(why, err)
		}
	}
	return missed, why
}

func (p probe) ask(ctx context.Context, client *http.Client, at advertised) error {
	var body io.Reader
	if at.method == http.MethodPost {
		body = strings.NewReader("{}")
	}
	r, err := http.NewRequestWithContext(ctx, at.method, at.url, body)
	if err != nil {
		return err
	}
	r.Header.Set(probeHeader, p.question)
	r.Header.Set("Cache-Control", "no-cache")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	res, err := client.Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	switch {
	case subtle.ConstantTimeCompare([]byte(res.Header.Get(probeHeader)), []byte(p.answer)) == 1:
		return nil
	case at.etag != "" && strings.TrimPrefix(res.Header.Get("ETag"), "W/") == at.etag:
		return nil // a cache has answered, with our card
	case res.Header.Get("Location") != "":
		return fmt.Errorf("it redirects to %.200q", res.Header.Get("Location"))
	}
	return fmt.Errorf("%w, with %s", errSomebodyElse, res.Status)
}

var errSomebodyElse = errors.New("something else answers")
