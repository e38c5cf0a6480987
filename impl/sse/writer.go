// Package sse reads and writes Server-Sent Events as the WHATWG HTML standard describes
// them. It knows nothing of what the records carry.
package sse

import "strconv"

// AppendEvent appends one record to dst: its id, and one line of data made of the given
// pieces. The pieces must not hold a line break; JSON without white space never does.
func AppendEvent(dst []byte, id int, data ...[]byte) []byte {
	dst = strconv.AppendInt(append(dst, "id: "...), int64(id), 10)
	dst = append(dst, "\ndata: "...)
	for _, piece := range data {
		dst = append(dst, piece...)
	}
	return append(dst, "\n\n"...)
}

// Comment is a record that readers ignore. It keeps proxies from closing a quiet stream.
const Comment = ": keep-alive\n\n"
