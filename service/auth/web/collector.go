package web

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/everywire/everywire/service/auth"
)

type collector struct {
	service                                     *auth.Service
	logins, verifies, inFlight, revoked, hashes *prometheus.Desc
}

// Collector gives the service's numbers to Prometheus.
func Collector(s *auth.Service) prometheus.Collector {
	result := []string{"result"}
	return &collector{
		service:  s,
		logins:   prometheus.NewDesc("auth_login_duration_seconds", "How long logins took, by how they ended.", result, nil),
		verifies: prometheus.NewDesc("auth_verify_duration_seconds", "How long it took to verify tokens, by what was found.", result, nil),
		inFlight: prometheus.NewDesc("auth_logins_in_flight", "Logins that are being tried, or wait for that.", nil, nil),
		revoked:  prometheus.NewDesc("auth_revocations_total", "Tokens that were revoked.", nil, nil),
		hashes:   prometheus.NewDesc("auth_hashes_total", "Hashes of passwords that were computed, most of what logins cost.", nil, nil),
	}
}

// Describe is [prometheus.Collector]'s.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	to <- c.logins
	to <- c.verifies
	to <- c.inFlight
	to <- c.revoked
	to <- c.hashes
}

// Collect is [prometheus.Collector]'s.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	n := c.service.Snapshot()
	for i := range n.Logins {
		to <- histogram(c.logins, &n.Logins[i], auth.LoginResult(i).String()) //nolint:gosec // there are few
	}
	for i := range n.Verifies {
		to <- histogram(c.verifies, &n.Verifies[i], auth.VerifyResult(i).String()) //nolint:gosec // there are few
	}
	to <- prometheus.MustNewConstMetric(c.inFlight, prometheus.GaugeValue, float64(n.InFlight))
	to <- prometheus.MustNewConstMetric(c.revoked, prometheus.CounterValue, float64(n.Revoked))
	to <- prometheus.MustNewConstMetric(c.hashes, prometheus.CounterValue, float64(n.Hashes))
}

func histogram(desc *prometheus.Desc, d *auth.Durations, result string) prometheus.Metric {
	below, n := make(map[float64]uint64, len(auth.Bounds)), uint64(0)
	for i, bound := range auth.Bounds {
		n += d.Counts[i]
		below[bound] = n
	}
	return prometheus.MustNewConstHistogram(desc, d.Count(), d.Sum.Seconds(), below, result)
}
