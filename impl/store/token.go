package store

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strings"
)

// ErrToken is a page token that was not made here for this principal and these filters.
var ErrToken = errors.New("must be a nextPageToken of the same list, with the same filters")

const (
	tokenVersion = 1
	tokenMAC     = 16 // bytes of the signature
	maxTokenID   = 128
)

// Token makes a cursor into a page token. It is signed: a client can neither make one nor
// take one to another principal's list or to other filters. The page size may change.
func (v View) Token(f Filter, c Cursor) string {
	b := binary.BigEndian.AppendUint64([]byte{tokenVersion}, uint64(c.StatusMS))
	b = append(b, c.ID...)
	return base64.RawURLEncoding.EncodeToString(append(b, v.sign(f, b)...))
}

// ParseToken is the inverse of Token; its error is ErrToken.
func (v View) ParseToken(f Filter, token string) (Cursor, error) {
	if len(token) > base64.RawURLEncoding.EncodedLen(1+8+maxTokenID+tokenMAC) {
		return Cursor{}, ErrToken
	}
	// Strict, and without the line breaks that decoding skips: one cursor has one token.
	if strings.ContainsAny(token, "\r\n") {
		return Cursor{}, ErrToken
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(b) < 1+8+tokenMAC || b[0] != tokenVersion {
		return Cursor{}, ErrToken
	}
	body, mac := b[:len(b)-tokenMAC], b[len(b)-tokenMAC:]
	if !hmac.Equal(mac, v.sign(f, body)) {
		return Cursor{}, ErrToken
	}
	return Cursor{StatusMS: int64(binary.BigEndian.Uint64(body[1:])), ID: string(body[9:])}, nil
}

// sign covers the cursor, the principal and what decides which tasks are listed, each with
// its length, so that no two of them can be confused.
func (v View) sign(f Filter, body []byte) []byte {
	after := int64(math.MinInt64)
	if l, err := newListing(f); err == nil {
		after = l.after
	}
	m := hmac.New(sha256.New, v.s.secret)
	for _, s := range []string{v.principal, f.ContextID, string(f.State), string(binary.BigEndian.AppendUint64(nil, uint64(after))), string(body)} {
		m.Write(binary.BigEndian.AppendUint64(nil, uint64(len(s))))
		m.Write([]byte(s))
	}
	return m.Sum(nil)[:tokenMAC]
}
