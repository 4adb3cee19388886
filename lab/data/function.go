package data

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// noArguments refuses arguments.
func (p *parser) noArguments(head word, args []word, e evaluator) (evaluator, error) {
	if len(args) > 0 {
		return nil, p.bad(args[0], "%s has no arguments", head.text)
	}
	return e, nil
}

func makeSeq(p *parser, head word, args []word) (evaluator, error) {
	return p.noArguments(head, args, counted(func(s *State) int64 { return s.counter.last.Add(1) }))
}

func makeCall(p *parser, head word, args []word) (evaluator, error) {
	return p.noArguments(head, args, counted(func(s *State) int64 { return s.call }))
}

func makeCaller(p *parser, head word, args []word) (evaluator, error) {
	return p.noArguments(head, args, counted(func(s *State) int64 { return int64(s.caller) }))
}

// counted is an integer.
type counted func(s *State) int64

func (f counted) value(s *State) (Kind, []byte) {
	s.scratch = strconv.AppendInt(s.scratch[:0], f(s), 10)
	return JSON, s.scratch
}

func makeUUID(p *parser, head word, args []word) (evaluator, error) {
	return p.noArguments(head, args, uuid{})
}

// uuid is a random UUID (RFC 9562, section 5.4: version 4).
type uuid struct{}

func (uuid) value(s *State) (Kind, []byte) {
	var id [16]byte
	fill(id[:], s.rand)
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	b := s.scratch[:0]
	for i, c := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b = append(b, '-')
		}
		b = append(b, hexDigits[c>>4], hexDigits[c&15])
	}
	s.scratch = b
	return String, b
}

func makeInt(p *parser, head word, args []word) (evaluator, error) {
	if len(args) != 2 {
		return nil, p.bad(head, "int has two arguments, the least and the most: {{int 1 99}}")
	}
	var d distribution
	for i, to := range []*int64{&d.from, &d.to} {
		n, err := strconv.ParseInt(args[i].text, 10, 64)
		if err != nil {
			return nil, p.bad(args[i], "%q is no integer of 64 bits", args[i].text)
		}
		*to = n
	}
	if err := p.inOrder(&d, args[1]); err != nil {
		return nil, err
	}
	return counted(func(s *State) int64 { return d.draw(s.rand) }), nil
}

func makeExp(p *parser, head word, args []word) (evaluator, error) {
	d, err := p.exponential(head, args, maxSize)
	if err != nil {
		return nil, err
	}
	return counted(func(s *State) int64 { return d.draw(s.rand) }), nil
}

func makeFloat(p *parser, head word, args []word) (evaluator, error) {
	if len(args) != 2 {
		return nil, p.bad(head, "float has two arguments, the least and the bound: {{float 0 1}}")
	}
	var f uniform
	for i, to := range []*float64{&f.from, &f.to} {
		n, err := strconv.ParseFloat(args[i].text, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			return nil, p.bad(args[i], "%q is no number", args[i].text)
		}
		*to = n
	}
	if f.to < f.from || math.IsInf(f.to-f.from, 0) {
		return nil, p.bad(args[1], "%s is no bound above %s", args[1].text, args[0].text)
	}
	return f, nil
}

type uniform struct{ from, to float64 }

func (f uniform) value(s *State) (Kind, []byte) {
	// The shortest form of a double without an exponent or with one is JSON's, too.
	s.scratch = strconv.AppendFloat(s.scratch[:0], f.from+s.rand.Float64()*(f.to-f.from), 'g', -1, 64)
	return JSON, s.scratch
}

func makeString(p *parser, head word, args []word) (evaluator, error) {
	d, err := p.size(head, args)
	if err != nil {
		return nil, err
	}
	return letters{d}, nil
}

// letters are of an alphabet of 64 that needs no escaping anywhere.
type letters struct{ size *distribution }

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

func (l letters) value(s *State) (Kind, []byte) {
	n := int(l.size.draw(s.rand))
	b := slices.Grow(s.scratch[:0], n)
	for len(b) < n {
		bits := s.rand.Uint64()
		for range min(10, n-len(b)) {
			b = append(b, alphabet[bits&63])
			bits >>= 6
		}
	}
	s.scratch = b
	return String, b
}

func makeBytes(p *parser, head word, args []word) (evaluator, error) {
	d, err := p.size(head, args)
	if err != nil {
		return nil, err
	}
	return octets{d}, nil
}

// octets are random bytes, as JSON has bytes: in base64.
type octets struct{ size *distribution }

func (o octets) value(s *State) (Kind, []byte) {
	n := int(o.size.draw(s.rand))
	encoded := base64.StdEncoding.EncodedLen(n)
	// The bytes stand at the end of the memory, where encoding does not overtake them.
	b := slices.Grow(s.scratch[:0], encoded+n)[:encoded+n]
	fill(b[encoded:], s.rand)
	base64.StdEncoding.Encode(b[:encoded], b[encoded:])
	s.scratch = b
	return String, b[:encoded]
}

func fill(b []byte, r *rand.Rand) {
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, r.Uint64())
		b = b[8:]
	}
	for i, bits := 0, r.Uint64(); i < len(b); i++ {
		b[i] = byte(bits >> (8 * i))
	}
}

func makePick(p *parser, head word, args []word) (evaluator, error) {
	if len(args) == 0 {
		return nil, p.bad(head, "pick has the values to pick from: {{pick red green \"light blue\"}}")
	}
	var all picked
	for _, a := range args {
		kind := Cell
		if a.quoted {
			kind = String
		}
		all = append(all, constant{kind, a.text})
	}
	return all, nil
}

// picked is one of several, each as often as the others.
type picked []constant

func (all picked) value(s *State) (Kind, []byte) { return all[s.rand.IntN(len(all))].value(s) }

// timeForms are how {{now FORM}} writes a time.
var timeForms = map[string]func(dst []byte, t time.Time) (Kind, []byte){
	"rfc3339": func(dst []byte, t time.Time) (Kind, []byte) {
		return String, t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
	},
	"unix":   func(dst []byte, t time.Time) (Kind, []byte) { return JSON, strconv.AppendInt(dst, t.Unix(), 10) },
	"unixms": func(dst []byte, t time.Time) (Kind, []byte) { return JSON, strconv.AppendInt(dst, t.UnixMilli(), 10) },
	"unixns": func(dst []byte, t time.Time) (Kind, []byte) { return JSON, strconv.AppendInt(dst, t.UnixNano(), 10) },
}

func makeNow(p *parser, _ word, args []word) (evaluator, error) {
	form := "rfc3339"
	if len(args) > 0 {
		form = args[0].text
	}
	write, ok := timeForms[form]
	if !ok || len(args) > 1 {
		known := make([]string, 0, len(timeForms))
		for name := range timeForms {
			known = append(known, name)
		}
		slices.Sort(known)
		return nil, p.bad(args[len(args)-1], "now has one of these forms: %s", strings.Join(known, ", "))
	}
	return moment{write}, nil
}

type moment struct {
	write func(dst []byte, t time.Time) (Kind, []byte)
}

func (m moment) value(s *State) (kind Kind, text []byte) {
	kind, s.scratch = m.write(s.scratch[:0], time.Now())
	return kind, s.scratch
}
