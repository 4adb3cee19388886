package token

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

var quiet = slog.New(slog.DiscardHandler)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// newTestIssuer makes an issuer with one key, and a clock that the test sets.
func newTestIssuer(t testing.TB, alg Alg, c Config) (*Issuer, *time.Time) {
	t.Helper()
	now := epoch
	key, err := NewKey(alg)
	if err != nil {
		t.Fatal(err)
	}
	if c.Keys == nil {
		if c.Keys, err = NewKeys(key); err != nil {
			t.Fatal(err)
		}
	}
	c.Now, c.Logger = func() time.Time { return now }, quiet
	i, err := NewIssuer(c)
	if err != nil {
		t.Fatal(err)
	}
	return i, &now
}

func b64(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// signHS signs any header and claims.
func signHS(secret []byte, header, claims string) string {
	text := b64(header) + "." + b64(claims)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func wants(t *testing.T, i *Issuer, what, text string, want Reason) {
	t.Helper()
	c, err := i.Verify(text)
	if ReasonOf(err) != want {
		t.Errorf("%s: %v (%+v), want %v", what, ReasonOf(err), c, want)
	}
	if err == nil {
		return
	}
	if err.Error() != "the token is not valid" {
		t.Errorf("%s: the error tells %q", what, err)
	}
	if c.Subject != "" || c.ID != "" || len(c.Roles) > 0 {
		t.Errorf("%s: refused, and yet claims %+v", what, c)
	}
}

// Attacks on the algorithm: what a token says of it decides nothing.
func TestAlgorithmAttacks(t *testing.T) {
	hs, _ := newTestIssuer(t, HS256, Config{})
	ed, _ := newTestIssuer(t, EdDSA, Config{})
	claims := fmt.Sprintf(`{"sub":"mallory","exp":%d,"jti":"x","roles":["admin"]}`, epoch.Add(time.Hour).Unix())
	hsID, edID := hs.signer().ID, ed.signer().ID
	public, ok := ed.signer().verify.(ed25519.PublicKey)
	if !ok {
		t.Fatal("no public key")
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	asPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	// HS/RS confusion: the public key, in each form that it is published in, as the
	// secret of an HMAC.
	for name, secret := range map[string][]byte{"raw": public, "DER": der, "PEM": asPEM, "nothing": {}} {
		for _, alg := range []string{"HS256", "EdDSA"} {
			wants(t, ed, "the public key as "+name+", alg "+alg, signHS(secret, `{"alg":"`+alg+`","kid":"`+edID+`","typ":"JWT"}`, claims), BadSignature)
		}
	}
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []jwt.SigningMethod{jwt.SigningMethodRS256, jwt.SigningMethodPS512} {
		tok := jwt.NewWithClaims(m, jwt.MapClaims{"sub": "mallory", "exp": epoch.Add(time.Hour).Unix(), "jti": "x"})
		tok.Header["kid"] = hsID
		text, err := tok.SignedString(rsaKey)
		if err != nil {
			t.Fatal(err)
		}
		wants(t, hs, m.Alg()+" with a key of one's own", text, BadSignature)
	}
	for _, alg := range []string{"none", "None", "NONE", "nOnE", "", "HS384", "HS512", "hs256", "RS256", "ES256", "EdDSA"} {
		header := `{"alg":"` + alg + `","kid":"` + hsID + `","typ":"JWT"}`
		want := BadSignature
		if alg == "" {
			want = Malformed
		}
		wants(t, hs, "alg "+alg+", signed with the right secret", signHS(hs.signer().secret, header, claims), want)
		wants(t, hs, "alg "+alg+" without a signature", b64(header)+"."+b64(claims)+".", Malformed)
		wants(t, hs, "alg "+alg+" with a signature of one byte", b64(header)+"."+b64(claims)+".AA", want)
	}
	wants(t, hs, "none without a kid", b64(`{"alg":"none"}`)+"."+b64(claims)+".AA", UnknownKey)
	// The two services' tokens are each good there alone.
	for _, i := range []*Issuer{hs, ed} {
		text, _, err := i.Issue("ada", nil)
		if err != nil {
			t.Fatal(err)
		}
		wants(t, i, "its own", text, 0)
		for _, other := range []*Issuer{hs, ed} {
			if other != i {
				wants(t, other, "another's", text, UnknownKey)
			}
		}
	}
}

// Headers that name other keys, and claims that are there twice or are not what they
// should be, all signed with the right secret.
func TestMalformedTokens(t *testing.T) {
	i, _ := newTestIssuer(t, HS256, Config{})
	secret, id := i.signer().secret, i.signer().ID
	head := `{"alg":"HS256","kid":"` + id + `","typ":"JWT"}`
	exp := epoch.Add(time.Hour).Unix()
	good := fmt.Sprintf(`{"sub":"ada","exp":%d,"jti":"x"}`, exp)
	wants(t, i, "the good one", signHS(secret, head, good), 0)
	wants(t, i, "members in another order", signHS(secret, `{"typ":"jwt","kid":"`+id+`","alg":"HS256"}`, good), 0)
	wants(t, i, "unknown claims", signHS(secret, head, fmt.Sprintf(`{"sub":"ada","exp":%d.5,"jid":"x","scope":{"a":[1]}}`, exp)), 0)
	for _, h := range []string{
		`{"alg":"HS256","kid":"` + id + `","alg":"none"}`,
		`{"alg":"none","alg":"HS256","kid":"` + id + `"}`,
		`{"alg":"HS256","kid":"` + id + `","kid":"` + id + `"}`,
		`{"alg":"HS256","kid":"` + id + `","crit":["exp"]}`,
		`{"alg":"HS256","kid":"` + id + `","jwk":{"kty":"oct","k":"AA"}}`,
		`{"alg":"HS256","kid":"` + id + `","jku":"https://evil.example/keys"}`,
		`{"alg":"HS256","kid":"` + id + `","x5u":"https://evil.example/cert"}`,
		`{"alg":"HS256","kid":"` + id + `","x5c":["AA"]}`,
		`{"alg":"HS256","kid":"` + id + `","zip":"DEF"}`,
		`{"alg":"HS256","kid":"` + id + `","cty":"JWT"}`,
		`{"alg":"HS256","kid":"` + id + `","typ":"at+jwt"}`,
		`{"alg":"HS256","kid":7}`, `{"alg":["HS256"],"kid":"` + id + `"}`, `{"kid":"` + id + `"}`,
		`["HS256"]`, `"HS256"`, `null`, ``, `{`, head + head, head + " x",
	} {
		wants(t, i, "header "+h, signHS(secret, h, good), Malformed)
	}
	for _, kid := range []string{"", "../../../../dev/null", "' OR 1=1 --", id + " ", strings.ToUpper(id), "\\u0000"} {
		wants(t, i, "kid "+kid, signHS(secret, `{"alg":"HS256","kid":"`+kid+`"}`, good), UnknownKey)
	}
	wants(t, i, "no kid", signHS(secret, `{"alg":"HS256","typ":"JWT"}`, good), UnknownKey)
	for _, c := range []string{
		fmt.Sprintf(`{"sub":"ada","sub":"admin","exp":%d,"jti":"x"}`, exp),
		fmt.Sprintf(`{"sub":"ada","exp":1,"exp":%d,"jti":"x"}`, exp),
		fmt.Sprintf(`{"sub":"ada","exp":%d,"jti":"x","roles":[],"roles":["admin"]}`, exp),
		fmt.Sprintf(`{"sub":"ada","exp":%d,"jti":"x","\u0073ub":"admin"}`, exp),
		fmt.Sprintf(`{"sub":"ada","exp":%d,"jti":"x","jid":"y"}`, exp),
		fmt.Sprintf(`{"exp":%d,"jti":"x"}`, exp),
		fmt.Sprintf(`{"sub":"","exp":%d,"jti":"x"}`, exp),
		fmt.Sprintf(`{"Sub":"ada","exp":%d,"jti":"x"}`, exp),
		fmt.Sprintf(`{"sub":7,"exp":%d,"jti":"x"}`, exp),
		fmt.Sprintf(`{"sub":"ada","exp":%d}`, exp),
		`{"sub":"ada","jti":"x"}`, `{"sub":"ada","exp":null,"jti":"x"}`,
		`{"sub":"ada","exp":0,"jti":"x"}`, `{"sub":"ada","exp":-1,"jti":"x"}`,
		`{"sub":"ada","exp":1e12,"jti":"x"}`, `{"sub":"ada","exp":99999999999999,"jti":"x"}`,
		fmt.Sprintf(`{"sub":"ada","exp":"%d","jti":"x"}`, exp),
		fmt.Sprintf(`{"sub":"ada","exp":%d,"jti":"x","roles":"admin"}`, exp),
		fmt.Sprintf(`{"sub":"ada","exp":%d,"jti":"x","roles":[7]}`, exp),
		fmt.Sprintf(`{"sub":"ada","exp":%d,"jti":"x","nbf":"soon"}`, exp),
		fmt.Sprintf(`{"sub":"ada","exp":%d,"jti":"x","aud":7}`, exp),
		"{\"sub\":\"a\xff\",\"jti\":\"x\",\"exp\":" + strconv.FormatInt(exp, 10) + "}",
		`[]`, `null`, `7`, ``, `{`, good + good, good + "x",
	} {
		wants(t, i, "claims "+c, signHS(secret, head, c), Malformed)
	}
	text := signHS(secret, head, good)
	parts := strings.Split(text, ".")
	for _, bad := range []string{
		"", ".", "..", "...", parts[0], parts[0] + "." + parts[1], text + ".", text + ".x", "." + text, " " + text, text + " ", text + "=", text + "\n",
		parts[0] + "\n." + parts[1] + "." + parts[2], parts[0] + "." + parts[1][:1] + "\r\n" + parts[1][1:] + "." + parts[2],
		"Bearer " + text, strings.ReplaceAll(text, ".", ".."), "\x00", strings.Repeat(".", 8000), "ewt_", "ewt_" + strings.Repeat("a", 58),
	} {
		_, err := i.Verify(bad)
		if r := ReasonOf(err); r != Malformed && r != BadSignature {
			t.Errorf("%.40q: %v", bad, err)
		}
	}
}

// Every byte counts: a token with one altered is refused, and so is the other text of
// the same bytes.
func TestTampered(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	for _, alg := range []Alg{HS256, EdDSA} {
		i, _ := newTestIssuer(t, alg, Config{})
		text, _, err := i.Issue("ada", []string{"staff"})
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(text) {
			for _, other := range []byte{alphabet[(strings.IndexByte(alphabet, text[n])+1)%64], '.', '=', 0} {
				if other == text[n] {
					continue
				}
				bad := text[:n] + string(other) + text[n+1:]
				if c, err := i.Verify(bad); err == nil {
					t.Fatalf("%s: with byte %d altered it is taken: %+v", alg, n, c)
				}
			}
		}
		// Claims of the attacker's under the signature of the true ones.
		parts := strings.Split(text, ".")
		var claims map[string]any
		data, err := base64.RawURLEncoding.DecodeString(parts[1])
		if err != nil || json.Unmarshal(data, &claims) != nil {
			t.Fatal(err)
		}
		claims["roles"] = []string{"admin"}
		forged, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		wants(t, i, "other claims", parts[0]+"."+base64.RawURLEncoding.EncodeToString(forged)+"."+parts[2], BadSignature)
	}
}

func TestTimes(t *testing.T) {
	i, now := newTestIssuer(t, HS256, Config{TTL: time.Hour, Leeway: 10 * time.Second})
	text, c, err := i.Issue("ada", nil)
	if err != nil || !c.Expires.Equal(epoch.Add(time.Hour)) {
		t.Fatal(c, err)
	}
	for _, step := range []struct {
		after time.Duration
		want  Reason
	}{
		{-11 * time.Second, NotYetValid}, {-10 * time.Second, 0}, {0, 0}, {time.Hour, 0}, {time.Hour + 10*time.Second - 1, 0},
		{time.Hour + 10*time.Second, Expired}, {100 * 365 * 24 * time.Hour, Expired},
	} {
		*now = epoch.Add(step.after)
		wants(t, i, fmt.Sprint("after ", step.after), text, step.want)
	}
	*now = epoch
	secret, head := i.signer().secret, `{"alg":"HS256","kid":"`+i.signer().ID+`"}`
	late := epoch.Add(time.Minute).Unix()
	wants(t, i, "nbf to come", signHS(secret, head, fmt.Sprintf(`{"sub":"a","jti":"x","exp":%d,"nbf":%d}`, late+60, late)), NotYetValid)
	wants(t, i, "iat to come", signHS(secret, head, fmt.Sprintf(`{"sub":"a","jti":"x","exp":%d,"iat":%d}`, late+60, late)), NotYetValid)
	wants(t, i, "expired an hour ago", signHS(secret, head, fmt.Sprintf(`{"sub":"a","jti":"x","exp":%d}`, epoch.Unix()-3600)), Expired)
}

func TestIssuerAndAudience(t *testing.T) {
	i, _ := newTestIssuer(t, HS256, Config{Issuer: "here", Audience: "us"})
	text, c, err := i.Issue("ada", nil)
	if err != nil || c.Issuer != "here" || len(c.Audience) != 1 || c.Audience[0] != "us" {
		t.Fatal(c, err)
	}
	wants(t, i, "its own", text, 0)
	secret, head := i.signer().secret, `{"alg":"HS256","kid":"`+i.signer().ID+`"}`
	with := func(more string) string {
		return signHS(secret, head, fmt.Sprintf(`{"sub":"a","jti":"x","exp":%d%s}`, epoch.Unix()+60, more))
	}
	wants(t, i, "several audiences", with(`,"iss":"here","aud":["them","us"]`), 0)
	wants(t, i, "no issuer", with(`,"aud":"us"`), WrongIssuer)
	wants(t, i, "another issuer", with(`,"iss":"Here","aud":"us"`), WrongIssuer)
	wants(t, i, "no audience", with(`,"iss":"here"`), WrongAudience)
	wants(t, i, "another audience", with(`,"iss":"here","aud":"u"`), WrongAudience)
	wants(t, i, "other audiences", with(`,"iss":"here","aud":["them","usa"]`), WrongAudience)
	wants(t, i, "none of many audiences", with(`,"iss":"here","aud":[]`), WrongAudience)
}

// What is too long is refused by its length alone: nothing is computed or allocated.
func TestLargeTokens(t *testing.T) {
	i, _ := newTestIssuer(t, HS256, Config{})
	mega := strings.Repeat("A", 1<<20)
	secret, head := i.signer().secret, `{"alg":"HS256","kid":"`+i.signer().ID+`"}`
	large := signHS(secret, head, fmt.Sprintf(`{"sub":"a","jti":"x","exp":%d,"x":%q}`, epoch.Unix()+60, mega))
	for name, text := range map[string]string{"signed": large, "letters": mega, "dots": strings.Repeat(".", 1<<20), "API": "ewt_" + mega} {
		wants(t, i, name, text, TooLarge)
		if n := testing.AllocsPerRun(100, func() { _, _ = i.Verify(text) }); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		if _, err := Decode(text); ReasonOf(err) != TooLarge {
			t.Errorf("%s: decoded: %v", name, err)
		}
	}
	deep := signHS(secret, head, fmt.Sprintf(`{"sub":"a","jti":"x","exp":%d,"x":%s}`, epoch.Unix()+60, strings.Repeat("[", 2000)+strings.Repeat("]", 2000)))
	wants(t, i, "deep", deep, 0) // within the size it is no more work than anything else
	if _, _, err := i.Issue("a", []string{strings.Repeat("r", 9000)}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a token is made that is too large to be taken: %v", err)
	}
}
