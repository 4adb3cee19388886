package token

import "errors"

// A Reason is why a token was refused. It is for logs and metrics: an outsider is
// told [Error]'s text, which is the same for all.
type Reason uint8

// The reasons.
const (
	Malformed     Reason = iota + 1 // not a token, or with a header or claims that none of ours has
	TooLarge                        // longer than Config.MaxSize
	UnknownKey                      // signed with a key that we do not have, or have no more
	BadSignature                    // not signed with the key that it names, or altered
	Expired                         // its time is over
	NotYetValid                     // its time has not come
	WrongIssuer                     // of another issuer
	WrongAudience                   // for others
	Revoked                         // taken back
)

var reasonNames = [...]string{
	Malformed: "malformed", TooLarge: "too_large", UnknownKey: "unknown_key", BadSignature: "bad_signature", Expired: "expired",
	NotYetValid: "not_yet_valid", WrongIssuer: "wrong_issuer", WrongAudience: "wrong_audience", Revoked: "revoked",
}

// String is a word for logs and metrics.
func (r Reason) String() string {
	if r == 0 || int(r) >= len(reasonNames) {
		return "none"
	}
	return reasonNames[r]
}

// An Error refuses a token. Its text is the same whatever the reason, so that it
// may be shown; it holds nothing of the token.
type Error struct {
	Reason Reason
	// Detail says more, for logs. It holds nothing of the token either.
	Detail string
}

func (*Error) Error() string { return "the token is not valid" }

// Is reports whether target is an Error with the same reason.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error) // Is compares with the target itself
	return ok && t.Reason == e.Reason
}

// ReasonOf is the reason of an error of Verify, 0 if it is none.
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return 0
}

// ErrNotFound is for changes of a key or an API token that is not there.
var ErrNotFound = errors.New("token: there is none with this id")

// ErrInvalid is in errors about a token that cannot be made.
var ErrInvalid = errors.New("token: cannot be made")
