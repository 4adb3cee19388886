package auth

import "time"

// The methods' full names.
const (
	Authenticate = "auth.Authentication/Authenticate"
	Verify       = "auth.Authentication/Verify"
	Validate     = "auth.Authentication/Validate"
	Details      = "auth.Authentication/Details"
	Revoke       = "auth.Authentication/Revoke"
	Stats        = "auth.Authentication/Stats"
	Health       = "auth.Authentication/Health"
	CreateToken  = "auth.Authentication/CreateToken"
)

// Empty asks for nothing in particular, and says no more than that all is well.
type Empty struct {
	_ struct{} `wire:"name=auth.Empty"`
}

// Login is who wants a token, and why they should get it: a password, or claims of
// which the user has one.
type Login struct {
	_        struct{} `wire:"name=auth.Login"`
	Username string   `wire:"1"`
	Password string   `wire:"2"`
	Claims   []string `wire:"3"`
}

// Token is a token, as it goes into the metadata authorization behind "Bearer ".
type Token struct {
	_     struct{} `wire:"name=auth.Token"`
	Token string   `wire:"1"`
}

// Validity says whether a token is good.
type Validity struct {
	_     struct{} `wire:"name=auth.Validity"`
	Valid bool     `wire:"1"`
}

// DetailsRequest asks what a token says. Who may ask is shown by Authorization, which
// over HTTP is the header; the token asked about is Token or, without one, that same.
type DetailsRequest struct {
	_             struct{} `wire:"name=auth.DetailsRequest"`
	Authorization string   `wire:"1" http:"header=Authorization"`
	Token         string   `wire:"2" http:"header=X-Token"`
}

// Session is what a token says. Expires is in seconds since 1970, as the claim exp.
type Session struct {
	_       struct{} `wire:"name=auth.Session"`
	ID      string   `wire:"1" json:"id"`
	User    string   `wire:"2"`
	Expires int64    `wire:"3"`
	Roles   []string `wire:"4"`
}

// Revocation names a token that shall be good no longer: by itself, or by its ID with
// the time until which it would have been good, in seconds since 1970; 0 is not known.
// With neither it is the caller's own.
type Revocation struct {
	_       struct{} `wire:"name=auth.Revocation"`
	Token   string   `wire:"1"`
	ID      string   `wire:"2" json:"id"`
	Expires int64    `wire:"3"`
}

// TokenRequest asks for a token that is good for longer than that of a login, for a
// program. The user need not be one who can log in; Name says what it is for.
type TokenRequest struct {
	_     struct{}      `wire:"name=auth.TokenRequest"`
	User  string        `wire:"1"`
	Roles []string      `wire:"2"`
	For   time.Duration `wire:"3"`
	Name  string        `wire:"4"`
}

// Status says that the service answers.
type Status struct {
	_      struct{} `wire:"name=auth.Status"`
	Status string   `wire:"1"`
}

// Statistics are numbers of what the service has done since it started.
type Statistics struct {
	_              struct{}  `wire:"name=auth.Statistics"`
	Worker         string    `wire:"1"`
	Version        string    `wire:"2"`
	Started        time.Time `wire:"3"`
	UptimeSeconds  float64   `wire:"4" json:"uptime_seconds"`
	Logins         []Outcome `wire:"5"`
	Verifies       []Outcome `wire:"6"`
	LoginsInFlight int64     `wire:"7" json:"logins_in_flight"`
	Revoked        uint64    `wire:"8"`
	Hashes         uint64    `wire:"9"`
}

// Outcome is how often something ended so, and how long that took.
type Outcome struct {
	_              struct{} `wire:"name=auth.Outcome"`
	Result         string   `wire:"1"`
	Count          uint64   `wire:"2"`
	AverageSeconds float64  `wire:"3" json:"average_seconds"`
}
