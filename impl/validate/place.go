package validate

import (
	"bytes"
	"sort"
	"unicode/utf8"

	"a2aserve/impl/sse"
)

// places tells where the bytes of a document's text stand in its file.
type places interface {
	// at is the line and the column, in characters from 1, of the byte at an offset.
	at(offset int) (line, column int)
}

// textPlaces is for text that stands in the file as it is. It moves forward only, and starts
// again for what lies behind.
type textPlaces struct {
	text                  []byte
	line, column          int // of the text's beginning
	offset, atLine, atCol int
}

func newTextPlaces(text []byte, line, column int) *textPlaces {
	return &textPlaces{text: text, line: line, column: column, atLine: line, atCol: column}
}

func (p *textPlaces) at(offset int) (line, column int) {
	if offset < p.offset {
		p.offset, p.atLine, p.atCol = 0, p.line, p.column
	}
	rest := p.text[p.offset:min(offset, len(p.text))]
	if n := bytes.Count(rest, []byte{'\n'}); n > 0 {
		p.atLine, p.atCol = p.atLine+n, 1
		rest = rest[bytes.LastIndexByte(rest, '\n')+1:]
	}
	p.offset, p.atCol = min(offset, len(p.text)), p.atCol+utf8.RuneCount(rest)
	return p.atLine, p.atCol
}

// eventPlaces is for the data of an SSE event, each line of which has a place of its own.
type eventPlaces struct {
	text  []byte
	lines []sse.Place
}

func (p eventPlaces) at(offset int) (line, column int) {
	before := p.text[:min(offset, len(p.text))]
	i := min(bytes.Count(before, []byte{'\n'}), len(p.lines)-1)
	begin := bytes.LastIndexByte(before, '\n') + 1
	return p.lines[i].Line, p.lines[i].Column + utf8.RuneCount(before[begin:])
}

// tablePlaces is for text that was made from another: the last mark at or before an offset
// has the place.
type tablePlaces []mark

type mark struct{ offset, line, column int }

func (p tablePlaces) at(offset int) (line, column int) {
	i := sort.Search(len(p), func(i int) bool { return p[i].offset > offset })
	if i == 0 {
		return 1, 1
	}
	return p[i-1].line, p[i-1].column
}
