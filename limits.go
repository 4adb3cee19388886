package everywire

// Limits bound what a peer can make this process hold. They are on by default;
// the zero value of a field means its default.
type Limits struct {
	// MaxMessage is the largest message in bytes, sent or received, before and
	// after decompression. A larger one is ResourceExhausted. In memory a
	// message takes more, usually a few times its bytes. A hostile one can take
	// a hundred times: a [Document] of empty objects is a Go map for each one to
	// three bytes, and a list of structs without pointers is a whole struct for
	// each empty object. Default 4 MiB, as in gRPC.
	MaxMessage int
	// MaxMetadata is the largest metadata of one call in bytes: names and
	// values together. Default 64 KiB.
	MaxMetadata int
	// MaxInFlight is the number of calls that one connection may have running
	// at the server. On a stream wire the server stops reading until one ends;
	// HTTP wires bound it by connections. Default 1000.
	MaxInFlight int
	// MaxBatch is the number of items in one JSON-RPC batch. Default 1000.
	MaxBatch int
}

// The defaults of Limits.
const (
	DefaultMaxMessage  = 4 << 20
	DefaultMaxMetadata = 64 << 10
	DefaultMaxInFlight = 1000
	DefaultMaxBatch    = 1000
)

// WithDefaults returns l with every zero field set to its default.
func (l Limits) WithDefaults() Limits {
	set := func(v *int, def int) {
		if *v == 0 {
			*v = def
		}
	}
	set(&l.MaxMessage, DefaultMaxMessage)
	set(&l.MaxMetadata, DefaultMaxMetadata)
	set(&l.MaxInFlight, DefaultMaxInFlight)
	set(&l.MaxBatch, DefaultMaxBatch)
	return l
}
