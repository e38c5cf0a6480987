package vector

import (
	"context"
	"fmt"
	"io"
)

// streams are those that a vector has opened, by name.
type streams map[string]*Stream

// step does one that concerns an open stream. Frames are expected of it as they come, so
// that the steps between find it open.
func (o streams) step(t *Target) func(context.Context, Step, Binding, Vars) error {
	return func(ctx context.Context, s Step, b Binding, vars Vars) error {
		stream := o[s.Name]
		switch {
		case s.Verb == "open" && stream != nil:
			return fmt.Errorf("%s is open already", s.Name)
		case s.Verb == "open":
			body, err := vars.Expand(string(s.Body))
			if err != nil {
				return err
			}
			if stream, err = t.Open(ctx, b, s.Arg, s.User, body); err != nil {
				return err
			}
			o[s.Name] = stream
		case stream == nil:
			return fmt.Errorf("%s is not open", s.Name)
		case s.Verb == "leave":
			stream.Close()
			delete(o, s.Name)
			return nil
		}
		for _, x := range s.Expects {
			if x.Kind != "frames" {
				return fmt.Errorf("%s cannot be expected of an open stream", x.Kind)
			}
			toTheEnd, err := matchNext(stream.Next, x.Body, vars)
			if err != nil {
				return err
			}
			if s.Verb == "read" {
				if err := ended(stream, toTheEnd); err != nil {
					return err
				}
				delete(o, s.Name)
			}
		}
		return nil
	}
}

// ended reads a stream to its end; where nothing may follow, nothing does.
func ended(s *Stream, nothing bool) error {
	rest, err := s.All()
	if err != nil && err != io.EOF {
		return err
	}
	if nothing && len(rest) > 0 {
		return fmt.Errorf("%d frames more than expected, first %s", len(rest), rest[0])
	}
	return nil
}

func (o streams) close() {
	for _, s := range o {
		s.Close()
	}
}
