package wire

import (
	"bytes"
	"errors"
	"net/http"
	"os"

	"a2aserve/gen/a2a"
)

// TooLarge is the refusal of a body of more than max bytes.
func TooLarge(max int64) *a2a.Error {
	return a2a.PayloadTooLargeError.Errorf("The request body is larger than %d bytes", max)
}

// readAhead bounds the memory that a mere Content-Length can claim.
const readAhead = 64 << 10

// ReadBody reads a request's body, which the edge has bounded. Its errors are safe to send.
func ReadBody(r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), readAhead)) + bytes.MinRead)
	_, err := b.ReadFrom(r.Body)
	if err == nil {
		return b.Bytes(), nil
	}
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, TooLarge(big.Limit)
	}
	if known, ok := errors.AsType[*a2a.Error](err); ok {
		return nil, known // the edge, whose reader this is, has said what is wrong
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, a2a.InvalidRequestError.Errorf("The request body did not arrive in time").Because(err)
	}
	return nil, a2a.InvalidRequestError.Errorf("The request body could not be read").Because(err)
}
