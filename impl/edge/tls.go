package edge

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// TLSOptions name the files of a server that speaks TLS, all in PEM.
type TLSOptions struct {
	CertFile, KeyFile string
	ClientCAFile      string        // empty: clients are not asked for certificates
	MinVersion        uint16        // 0: TLS 1.2
	Every             time.Duration // between looks at the files, at least; 0: one second
	Log               *slog.Logger  // nil: slog.Default()
}

// TLS is the server's side of TLS. It looks at its files as connections come, and takes
// over what has changed; connections that are open keep what they began with.
type TLS struct {
	TLSOptions

	mu     sync.Mutex // guards what follows
	config *tls.Config
	seen   string    // the files as they were when last read, readable or not
	looked time.Time // when that was
}

// NewTLS reads the files. Its errors name the one at fault.
func NewTLS(o TLSOptions) (*TLS, error) {
	if o.Every == 0 {
		o.Every = time.Second
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	t := &TLS{TLSOptions: o}
	t.seen, t.looked = t.state(), time.Now()
	var err error
	t.config, err = t.load()
	return t, err
}

// ConfigFor is for tls.Config.GetConfigForClient. A change that cannot be read is logged
// once, and what was there goes on: a renewal may be caught between two files.
func (t *TLS) ConfigFor(*tls.ClientHelloInfo) (*tls.Config, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.looked) >= t.Every {
		t.looked = now
		if state := t.state(); state != t.seen {
			t.seen = state
			if next, err := t.load(); err != nil {
				t.Log.Error("the TLS files have changed and cannot be used: the old ones stay in use", "error", err)
			} else {
				t.config = next
				t.Log.Info("the TLS files have been read again", "expires", next.Certificates[0].Leaf.NotAfter)
			}
		}
	}
	return t.config, nil
}

// state tells files that have changed from files that have not.
func (t *TLS) state() (s string) {
	for _, path := range []string{t.CertFile, t.KeyFile, t.ClientCAFile} {
		if i, err := os.Stat(path); err == nil {
			s += fmt.Sprintln(i.ModTime().UnixNano(), i.Size())
		} else {
			s += fmt.Sprintln("none")
		}
	}
	return s
}

func (t *TLS) load() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("tls.cert_file, tls.key_file: %w", err)
	}
	c := &tls.Config{
		MinVersion:   max(t.MinVersion, tls.VersionTLS12),
		Certificates: []tls.Certificate{pair},
		NextProtos:   []string{"h2", "http/1.1"},
	}
	if t.ClientCAFile == "" {
		return c, nil
	}
	b, err := os.ReadFile(t.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("tls.client_ca_file: %w", err)
	}
	c.ClientCAs = x509.NewCertPool()
	if !c.ClientCAs.AppendCertsFromPEM(b) {
		return nil, errors.New("tls.client_ca_file: no certificate in PEM in " + t.ClientCAFile)
	}
	// Not required here: the Agent Card is for those who have none yet, and whoever
	// needs one and has none is refused in the binding's shape.
	c.ClientAuth = tls.VerifyClientCertIfGiven
	return c, nil
}

// Own is the client's side for calls to the server itself: besides the system's authorities
// it trusts the certificate in use, as long as that names the address that is called.
func (t *TLS) Own() *tls.Config {
	t.mu.Lock()
	defer t.mu.Unlock()
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	roots.AddCert(t.config.Certificates[0].Leaf)
	return &tls.Config{RootCAs: roots}
}

// Secure makes a server of Server speak TLS, each connection as configFor says. HTTP/2
// without TLS is off then.
func Secure(srv *http.Server, configFor func(*tls.ClientHelloInfo) (*tls.Config, error)) {
	srv.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: configFor}
	srv.Protocols.SetUnencryptedHTTP2(false)
}

// Serve serves until the server is shut down, with TLS where Secure has asked for it.
func Serve(srv *http.Server, l net.Listener) error {
	if srv.TLSConfig == nil {
		return srv.Serve(l)
	}
	return srv.ServeTLS(l, "", "") // the files are TLS's own
}
