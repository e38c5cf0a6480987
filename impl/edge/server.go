package edge

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"
)

// Limits bound a connection. Zero values mean the defaults.
type Limits struct {
	ReadHeader  time.Duration // 10 s
	ReadBody    time.Duration // 30 s, headers included
	Idle        time.Duration // 2 min between requests of a connection
	HeaderBytes int           // 64 KiB
	Streams     int           // concurrent streams of one HTTP/2 connection: 1,000
}

// Server builds the HTTP server: HTTP/1.1, HTTP/2 with TLS, and HTTP/2 without (h2c).
// It has no write time-out, because a stream may live for days: whoever writes sets a
// deadline for each write.
func Server(h http.Handler, l Limits, log *slog.Logger) *http.Server {
	if log == nil {
		log = slog.Default()
	}
	var p http.Protocols
	p.SetHTTP1(true)
	p.SetHTTP2(true)
	p.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: cmp.Or(l.ReadHeader, 10*time.Second),
		ReadTimeout:       cmp.Or(l.ReadBody, 30*time.Second),
		IdleTimeout:       cmp.Or(l.Idle, 2*time.Minute),
		MaxHeaderBytes:    cmp.Or(l.HeaderBytes, 64<<10),
		Protocols:         &p,
		// Subscribers must not keep unary calls of the same connection waiting.
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: cmp.Or(l.Streams, 1000)},
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// again is how often connections are told that the server stops.
const again = 200 * time.Millisecond

// Shutdown ends a server of Server once its requests have ended, or with an error when ctx
// does. A connection that becomes HTTP/2 while its server stops has missed being told, and
// would be waited for until it is idle for too long; so all are told again.
func Shutdown(ctx context.Context, srv *http.Server) error {
	for {
		turn, cancel := context.WithTimeout(ctx, again)
		err := srv.Shutdown(turn)
		over := turn.Err() == nil || ctx.Err() != nil
		cancel()
		if err == nil || over {
			return err
		}
	}
}
