// Package sse reads and writes Server-Sent Events as the WHATWG HTML standard describes
// them. It knows nothing of what the records carry.
package sse

import (
	"bytes"
	"strconv"
)

// Comment is a record that readers ignore. It keeps proxies from closing a quiet stream.
const Comment = ": keep-alive\n\n"

// AppendEvent appends one record to dst: its id, and data made of the given pieces. A
// line break in a piece continues the data on another line, as the standard has it.
func AppendEvent(dst []byte, id int, data ...[]byte) []byte {
	dst = strconv.AppendInt(append(dst, "id: "...), int64(id), 10)
	dst = append(dst, "\ndata: "...)
	for _, piece := range data {
		dst = appendData(dst, piece)
	}
	return append(dst, "\n\n"...)
}

func appendData(dst, piece []byte) []byte {
	for {
		i := bytes.IndexByte(piece, '\n')
		if j := bytes.IndexByte(piece, '\r'); j >= 0 && (i < 0 || j < i) {
			i = j
		}
		if i < 0 {
			return append(dst, piece...)
		}
		dst = append(append(dst, piece[:i]...), "\ndata: "...)
		piece = piece[i+1:]
	}
}
