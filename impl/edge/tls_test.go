package edge

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"a2aserve/conformance/certs"
)

// secure serves h with TLS and returns the base of its addresses.
func secure(t *testing.T, o TLSOptions, h http.HandlerFunc) (base string, log *logged) {
	t.Helper()
	log = &logged{}
	o.Log, o.Every = slog.New(slog.NewTextHandler(log, nil)), 1
	side, err := NewTLS(o)
	if err != nil {
		t.Fatal(err)
	}
	srv := Server(Handler(Options{Guard: Guard{HSTS: time.Hour}, Log: o.Log}, h), Limits{}, o.Log)
	Secure(srv, side.ConfigFor)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- Serve(srv, l) }()
	t.Cleanup(func() {
		srv.Close()
		if err := <-served; err != http.ErrServerClosed {
			t.Error(err)
		}
	})
	return "https://" + l.Addr().String(), log
}

func client(t *testing.T, c *tls.Config) *http.Client {
	tr := &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestTLS(t *testing.T) {
	ca := certs.NewAuthority(t, "authority")
	cert, key := ca.Server("one").Write(t, t.TempDir())
	hello := func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.Proto) }
	base, _ := secure(t, TLSOptions{CertFile: cert, KeyFile: key}, hello)
	strict, _ := secure(t, TLSOptions{CertFile: cert, KeyFile: key, MinVersion: tls.VersionTLS13}, hello)
	for _, c := range []struct {
		name, base string
		config     *tls.Config
		works      bool
	}{
		{"1.3", base, &tls.Config{RootCAs: ca.Pool, MinVersion: tls.VersionTLS13}, true},
		{"1.2", base, &tls.Config{RootCAs: ca.Pool, MaxVersion: tls.VersionTLS12}, true},
		{"1.1", base, &tls.Config{RootCAs: ca.Pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, false},
		{"1.2 where 1.3 is asked for", strict, &tls.Config{RootCAs: ca.Pool, MaxVersion: tls.VersionTLS12}, false},
		{"1.3 where 1.3 is asked for", strict, &tls.Config{RootCAs: ca.Pool}, true},
	} {
		res, err := client(t, c.config).Get(c.base)
		if (err == nil) != c.works {
			t.Errorf("%s: %v", c.name, err)
		}
		if err != nil {
			continue
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(body) != "HTTP/2.0" || res.Header.Get("Strict-Transport-Security") != "max-age=3600" {
			t.Errorf("%s: %s %v", c.name, body, res.Header)
		}
	}
	one := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool, NextProtos: []string{"http/1.1"}}}
	defer one.CloseIdleConnections()
	if res, err := (&http.Client{Transport: one}).Get(base); err != nil || res.ProtoMajor != 1 {
		t.Errorf("HTTP/1.1: %v %v", res, err)
	} else {
		res.Body.Close()
	}
	// Neither kind of plain HTTP gets to the handler.
	for _, h2 := range []bool{false, true} {
		var p http.Protocols
		p.SetHTTP1(!h2)
		p.SetUnencryptedHTTP2(h2)
		plain := &http.Transport{Protocols: &p}
		defer plain.CloseIdleConnections()
		res, err := (&http.Client{Transport: plain}).Get("http" + strings.TrimPrefix(base, "https"))
		if err == nil {
			res.Body.Close()
			if res.StatusCode != http.StatusBadRequest {
				t.Errorf("plain HTTP got %d", res.StatusCode)
			}
		}
	}
}

// A server reaches itself under an authority that nobody else knows, by its right name only.
func TestTLSToItself(t *testing.T) {
	cert, key := certs.NewAuthority(t, "authority").Server("one").Write(t, t.TempDir())
	o := TLSOptions{CertFile: cert, KeyFile: key}
	base, _ := secure(t, o, func(http.ResponseWriter, *http.Request) {})
	side, err := NewTLS(o)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client(t, side.Own()).Get(base)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	wrong := side.Own()
	wrong.ServerName = "agent.example.com"
	if _, err := client(t, wrong).Get(base); err == nil {
		t.Error("a name that the certificate does not have is accepted")
	}
}

// A renewed certificate is used for new connections; open ones, and streams on them, go on.
func TestCertificatesAreReadAgain(t *testing.T) {
	ca, dir := certs.NewAuthority(t, "authority"), t.TempDir()
	cert, key := ca.Server("one").Write(t, dir)
	more := make(chan string)
	base, log := secure(t, TLSOptions{CertFile: cert, KeyFile: key}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			w.Header().Set("Content-Type", "text/event-stream")
			for s := range more {
				fmt.Fprintf(w, "data: %s\n\n", s)
				http.NewResponseController(w).Flush()
			}
		}
	})
	res, err := client(t, &tls.Config{RootCAs: ca.Pool}).Get(base + "/stream?" + feed(more, "before"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewScanner(res.Body)
	next := func() string {
		for lines.Scan() {
			if s, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				return s
			}
		}
		return "the stream has ended"
	}
	if s := next(); s != "before" {
		t.Fatal(s)
	}
	name := func() string {
		t.Helper()
		res, err := client(t, &tls.Config{RootCAs: ca.Pool}).Get(base)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.TLS.PeerCertificates[0].Subject.CommonName
	}
	if n := name(); n != "one" {
		t.Fatalf("at first %s", n)
	}
	second := ca.Server("the second")
	if err := os.WriteFile(cert, second.Cert, 0o600); err != nil { // and not its key yet
		t.Fatal(err)
	}
	if n := name(); n != "one" || !strings.Contains(log.text(), "cannot be used") {
		t.Errorf("half renewed: %s\n%s", n, log.text())
	}
	name()
	if n := strings.Count(log.text(), "cannot be used"); n != 1 {
		t.Errorf("one mistake is logged %d times", n)
	}
	second.Write(t, dir)
	if n := name(); n != "the second" {
		t.Errorf("renewed: %s\n%s", n, log.text())
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if n := name(); n != "the second" {
		t.Errorf("without its key: %s", n)
	}
	more <- "after"
	if s := next(); s != "after" {
		t.Errorf("the open stream: %s", s)
	}
	close(more)
}

// feed has a value wait until the stream asks for it.
func feed(to chan<- string, s string) string {
	go func() { to <- s }()
	return s
}

// A connection that becomes HTTP/2 only after the server has begun to stop does not keep it.
func TestShutdownMeetsALateConnection(t *testing.T) {
	ca := certs.NewAuthority(t, "authority")
	cert, key := ca.Server("one").Write(t, t.TempDir())
	side, err := NewTLS(TLSOptions{CertFile: cert, KeyFile: key})
	if err != nil {
		t.Fatal(err)
	}
	srv := Server(http.NotFoundHandler(), Limits{}, nil)
	Secure(srv, side.ConfigFor)
	accepted, stopping := make(chan bool, 1), make(chan bool, 100)
	srv.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			accepted <- true
		}
	}
	srv.RegisterOnShutdown(func() { stopping <- true })
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served, stopped := make(chan error, 1), make(chan error, 1)
	go func() { served <- Serve(srv, l) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	<-accepted
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() { stopped <- Shutdown(ctx, srv) }()
	<-stopping
	late := tls.Client(conn, &tls.Config{RootCAs: ca.Pool, ServerName: "127.0.0.1", NextProtos: []string{"h2"}})
	if err := late.Handshake(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(late, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00") // and empty settings
	if err := <-stopped; err != nil {
		t.Errorf("a connection without requests was waited for: %v", err)
	}
	if err := <-served; err != http.ErrServerClosed {
		t.Error(err)
	}
}

func TestTLSFilesThatDoNotWork(t *testing.T) {
	ca, dir := certs.NewAuthority(t, "authority"), t.TempDir()
	cert, key := ca.Server("one").Write(t, dir)
	_, other := ca.Server("two").Write(t, t.TempDir())
	none := filepath.Join(dir, "none.pem")
	for _, c := range []struct {
		o    TLSOptions
		says string
	}{
		{TLSOptions{CertFile: none, KeyFile: key}, "none.pem"},
		{TLSOptions{CertFile: cert, KeyFile: other}, "tls.key_file"},
		{TLSOptions{CertFile: cert, KeyFile: key, ClientCAFile: none}, "tls.client_ca_file"},
		{TLSOptions{CertFile: cert, KeyFile: key, ClientCAFile: key}, "tls.client_ca_file: no certificate"},
	} {
		if _, err := NewTLS(c.o); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v: %v", c.o, err)
		}
	}
}

// A certificate is verified where one is given; none at all is for the chain to judge.
func TestClientCertificates(t *testing.T) {
	ca, stranger := certs.NewAuthority(t, "authority"), certs.NewAuthority(t, "another")
	cert, key := ca.Server("one").Write(t, t.TempDir())
	base, _ := secure(t, TLSOptions{CertFile: cert, KeyFile: key, ClientCAFile: ca.File}, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, len(r.TLS.VerifiedChains))
	})
	for _, c := range []struct {
		name string
		from []tls.Certificate
		want string
	}{
		{"none", nil, "0"},
		{"right", []tls.Certificate{ca.Client(pkix.Name{CommonName: "alice"})}, "1"},
		{"of another authority", []tls.Certificate{stranger.Client(pkix.Name{CommonName: "alice"})}, "refused"},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			config := &tls.Config{RootCAs: ca.Pool, MaxVersion: version}
			if c.from != nil { // given even where the server names other authorities
				config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &c.from[0], nil }
			}
			got := "refused"
			if res, err := client(t, config).Get(base); err == nil {
				b, _ := io.ReadAll(res.Body)
				res.Body.Close()
				got = string(b)
			}
			if got != c.want {
				t.Errorf("%s, %s: %s", c.name, tls.VersionName(version), got)
			}
		}
	}
}
