package grpcwire

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/keepalive"

	"github.com/everywire/everywire/wire/internal/rpc"
)

const (
	// serverPing is when a server asks a client that says nothing whether it is
	// there. It is less than what NATs and balancers commonly give a silent
	// connection.
	serverPing = 2 * time.Minute
	// pingTimeout is how long the other end may take to answer.
	pingTimeout = 20 * time.Second
	// minPing is the least time between pings that gRPC lets a client have (A8), and
	// so the least that a server can demand without breaking clients that obey.
	minPing = 10 * time.Second
)

// never is a time that does not come. grpc-go adds a tenth to some.
const never = time.Duration(math.MaxInt64 / 2)

// serverTimes are the options of a server that are times.
func serverTimes(options rpc.Options) ([]grpc.ServerOption, error) {
	t := times{options: options}
	params := keepalive.ServerParameters{
		Time:                  t.get("keepalive", time.Second, serverPing),
		Timeout:               t.get("keepalivetimeout", time.Second, pingTimeout),
		MaxConnectionIdle:     t.get("idle", time.Millisecond, never),
		MaxConnectionAge:      t.get("maxage", time.Second, never),
		MaxConnectionAgeGrace: t.get("maxagegrace", time.Second, never),
	}
	policy := keepalive.EnforcementPolicy{
		MinTime:             t.get("keepalivemin", time.Second, minPing),
		PermitWithoutStream: true,
	}
	if options["maxagegrace"] != "" && options["maxage"] == "" {
		t.err = errors.Join(t.err, errors.New("option maxagegrace: it needs maxage"))
	}
	return []grpc.ServerOption{grpc.KeepaliveParams(params), grpc.KeepaliveEnforcementPolicy(policy)}, t.err
}

// clientTimes are those of a client. It does not ask by itself: a server of another
// may close the connection for it.
func clientTimes(options rpc.Options) ([]grpc.DialOption, error) {
	var opts []grpc.DialOption
	t := times{options: options}
	params := keepalive.ClientParameters{
		Time:    t.get("keepalive", minPing, never),
		Timeout: t.get("keepalivetimeout", time.Second, pingTimeout),
	}
	if options["keepalive"] != "" {
		opts = append(opts, grpc.WithKeepaliveParams(params))
	} else if options["keepalivetimeout"] != "" {
		t.err = errors.Join(t.err, errors.New("option keepalivetimeout: a client needs keepalive for it"))
	}
	if idle := t.get("idle", time.Millisecond, never); idle != never {
		opts = append(opts, grpc.WithIdleTimeout(idle))
	}
	return opts, t.err
}

// times reads options that are times.
type times struct {
	options rpc.Options
	err     error
}

// get returns a time of at least least, or otherwise if it is not given.
func (t *times) get(name string, least, otherwise time.Duration) time.Duration {
	text, given := t.options[name]
	if !given {
		return otherwise
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < least {
		t.err = errors.Join(t.err, fmt.Errorf("option %s: %q is not a time of %v or more, such as 30s or 5m", name, text, least))
		return otherwise
	}
	return min(d, never)
}

// serviceConfig makes gRPC's service config of the options lb and serviceconfig; ""
// if there is neither.
func serviceConfig(options rpc.Options) (string, error) {
	members := map[string]json.RawMessage{}
	file, policy := options["serviceconfig"], options["lb"]
	if _, given := options["serviceconfig"]; given {
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &members)
		}
		if err != nil {
			return "", fmt.Errorf("option serviceconfig: %s: %w", file, err)
		}
	}
	switch policy {
	case "":
	case "pick_first", "round_robin":
		for _, name := range []string{"loadBalancingConfig", "loadBalancingPolicy"} {
			if members[name] != nil {
				return "", fmt.Errorf("the option lb contradicts %s of the option serviceconfig: give one of them", name)
			}
		}
		members["loadBalancingConfig"] = json.RawMessage(`[{"` + policy + `":{}}]`)
	default:
		return "", fmt.Errorf("unknown lb %q: it is one of pick_first, round_robin", policy)
	}
	if len(members) == 0 {
		return "", nil
	}
	text, err := json.Marshal(members)
	return string(text), err
}

// callCompressor is the option compression as a call option; nil if nothing is
// compressed.
func callCompressor(options rpc.Options) (grpc.CallOption, error) {
	name, given := options["compression"]
	switch {
	case !given:
		return nil, nil //nolint:nilnil // no option
	case name != "gzip" && name != "zstd":
		return nil, fmt.Errorf("unknown compression %q: it is one of gzip, zstd", name)
	}
	return grpc.UseCompressor(name), nil
}
