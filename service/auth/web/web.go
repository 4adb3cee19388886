// Package web is what the authentication service has over HTTP beyond its calls:
// every response says who made it, and the paths of the metrics answer in the text
// format of Prometheus to who asks for it. Whoever serves no HTTP, or wants no
// Prometheus, leaves it out.
package web

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/everywire/everywire/service/auth"
)

// metricsPaths are those of the routes of [auth.Stats].
var metricsPaths = map[string]bool{
	"/metrics": true, "/api/v2/authentication/metrics": true, "/api/v2/authentication/statistics": true,
}

// Around returns what is to be put around the handlers of the wires that serve s: an
// argument of wire.WithHTTP.
func Around(s *auth.Service) (func(http.Handler) http.Handler, error) {
	reg := prometheus.NewRegistry()
	if err := reg.Register(Collector(s)); err != nil {
		return nil, err
	}
	metrics := promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	worker, version := s.Worker()
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["X-Worker"] = []string{worker}
			w.Header()["X-Worker-Version"] = []string{version}
			if r.Method == http.MethodGet && metricsPaths[r.URL.Path] {
				w.Header()["Vary"] = []string{"Accept"}
				if wantsPrometheus(r.Header["Accept"]) {
					metrics.ServeHTTP(w, r)
					return
				}
			}
			next.ServeHTTP(w, r.WithContext(auth.Marked(r.Context())))
		})
	}, nil
}

// wantsPrometheus reports whether Accept names a format of Prometheus, and gives JSON
// no greater weight.
func wantsPrometheus(accept []string) bool {
	var text, json float64
	for part := range strings.SplitSeq(strings.Join(accept, ","), ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		weight := 1.0
		if q, given := params["q"]; given {
			if weight, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		switch media {
		case "text/plain", "application/openmetrics-text":
			text = max(text, weight)
		case "application/json":
			json = max(json, weight)
		}
	}
	return text > 0 && text >= json
}
