package config_test

import (
	"fmt"
	"testing"

	"a2aserve/impl/config"
)

// Decision 33: listening on every interface needs somebody who knows the address.
func TestTrustedProxies(t *testing.T) {
	c, err := config.Parse("f.yaml", []byte(valid+"bind: 0.0.0.0:8091\nproxy: {trusted_cidrs: [10.0.0.0/8, \"fd00::/8\", 192.0.2.7/32]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(c.TrustedProxies()); got != "[10.0.0.0/8 fd00::/8 192.0.2.7/32]" {
		t.Errorf("got %s", got)
	}
	if c, err = config.Parse("f.yaml", []byte(valid)); err != nil || len(c.TrustedProxies()) != 0 {
		t.Errorf("by default %v are trusted, %v", c.TrustedProxies(), err)
	}
}
