package token

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever it is given, Verify refuses what no key of ours has signed, and what it
// takes is one text of its token only.
func FuzzVerify(f *testing.F) {
	hs, _ := newTestIssuer(f, HS256, Config{Legacy: []byte("0123456789abcdef0123456789abcdef")})
	ed, _ := newTestIssuer(f, EdDSA, Config{})
	ours := map[string]bool{}
	for _, i := range []*Issuer{hs, ed} {
		text, _, err := i.Issue("ada", []string{"admin"})
		if err != nil {
			f.Fatal(err)
		}
		ours[text] = true
		f.Add(text)
	}
	api, _, err := hs.MakeAPI(APISpec{User: "ada"})
	if err != nil {
		f.Fatal(err)
	}
	ours[api] = true
	f.Add(api)
	f.Add(b64(`{"alg":"none"}`) + "." + b64(`{"sub":"a","exp":99999999999,"jid":"x"}`) + ".")
	f.Fuzz(func(t *testing.T, text string) {
		for _, i := range []*Issuer{hs, ed} {
			c, err := i.Verify(text)
			if err == nil && !ours[text] {
				t.Fatalf("%q is taken: %+v", text, c)
			}
			if err != nil && ReasonOf(err) == 0 {
				t.Fatalf("%q: an error without a reason: %v", text, err)
			}
		}
		if u, err := Decode(text); err == nil && (!json.Valid(u.Header) || !json.Valid(u.Body) || u.Claims.Subject == "") {
			t.Fatalf("%q is decoded as %+v", text, u)
		}
	})
}

// Whatever claims are signed, they are read as package encoding/json reads them, or
// refused; and a header that is read has the algorithm that encoding/json finds.
func FuzzClaims(f *testing.F) {
	i, _ := newTestIssuer(f, HS256, Config{})
	secret, id := i.signer().secret, i.signer().ID
	f.Add(`{"alg":"HS256","kid":"KID","typ":"JWT"}`, fmt.Sprintf(`{"sub":"ada","exp":%d,"jti":"x","roles":["a"],"aud":["b"],"nbf":1,"iat":1.5}`, epoch.Unix()+60))
	f.Add(`{"alg":"HS256","kid":"KID"}`, fmt.Sprintf(`{"sub":"ada","exp":%d,"jid":"x","aud":"b","iss":"c"}`, epoch.Unix()+60))
	f.Fuzz(func(t *testing.T, header, claims string) {
		header = strings.ReplaceAll(header, "KID", id)
		c, err := i.Verify(signHS(secret, header, claims))
		if err != nil {
			if ReasonOf(err) == 0 {
				t.Fatalf("an error without a reason: %v", err)
			}
			return
		}
		var h struct{ Alg, Kid string }
		var p struct {
			Sub, Jti, Jid string
			Exp           float64
			Roles         []string
		}
		if err := json.Unmarshal([]byte(header), &h); err != nil || h.Alg != "HS256" || h.Kid != id {
			t.Fatalf("the header %q is taken: %v", header, err)
		}
		// encoding/json is more lenient about the case of names: then it may see
		// another value, and there is nothing to compare.
		if err := json.Unmarshal([]byte(claims), &p); err != nil {
			t.Fatalf("the claims %q are taken: %v", claims, err)
		}
		if lower := strings.ToLower(claims); lower != claims || strings.Contains(claims, `\u`) || !utf8.ValidString(claims) {
			return
		}
		if p.Sub != c.Subject || p.Jti != c.ID && p.Jid != c.ID || int64(p.Exp) != c.Expires.Unix() || len(p.Roles) != len(c.Roles) {
			t.Fatalf("%q is read as %+v", claims, c)
		}
	})
}

// A file of keys is refused or it can be written and read again.
func FuzzKeysFile(f *testing.F) {
	secret := base64.RawURLEncoding.EncodeToString(make([]byte, 32))
	f.Add([]byte(`{"version":1,"keys":[{"kid":"a","alg":"HS256","state":"active","created":"2026-01-02T03:04:05Z","secret":"` + secret + `"}]}`))
	f.Add([]byte(`{"version":1,"keys":[{"kid":"a","alg":"EdDSA","state":"active","created":"2026-01-02T03:04:05Z","secret":"` + secret + `"},{"kid":"b","alg":"HS256","state":"retired","created":"2026-01-02T03:04:05Z","until":"2026-01-02T03:04:05Z","secret":"` + secret + `"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := parseKeys(data)
		if err != nil {
			if strings.Contains(err.Error(), secret) {
				t.Fatalf("the error shows a secret: %v", err)
			}
			return
		}
		if set.active == nil || len(set.byID) != len(set.all) {
			t.Fatalf("%q gives %+v", data, set)
		}
	})
}
