package light

import (
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// doubt is how long a failed commit keeps the server from being ready. Then it is given
// the next chance: without traffic nothing would ever prove that the store has recovered.
const doubt = 10 * time.Second

// Handler serves /metrics, /healthz and /readyz, without authentication: who may reach
// the address is who may read them.
func (l *Light) Handler() http.Handler {
	mux := http.NewServeMux()
	if l.registry != nil {
		mux.Handle("GET /metrics", promhttp.HandlerFor(l.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 20 * time.Second}))
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if why := l.unready(time.Now()); why != "" {
			say(w, http.StatusServiceUnavailable, why)
			return
		}
		say(w, http.StatusOK, "ready")
	})
	return mux
}

// unready says why new requests should go elsewhere, or nothing.
func (l *Light) unready(now time.Time) string {
	stats := l.engine.Load()
	if stats == nil {
		return "starting"
	}
	at := l.broken.Load()
	switch s := (*stats)(); {
	case s.Draining:
		return "draining"
	case s.Failing > 0 || at != 0 && now.Sub(time.Unix(0, at)) < doubt:
		return "the task store does not accept changes"
	}
	return ""
}

func say(w http.ResponseWriter, status int, word string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, word+"\n")
}
