package users

import (
	"strings"
	"testing"
)

// little are parameters that cost nothing: what is tested is not their strength.
var little = Argon2{Memory: 8, Time: 1, Threads: 1}

// vector is the published services' hash of "secret" for the user "test".
const vector = "939c1f673b7f5f5c991b4d4160642e72880e783ba4d7b04da260392f855214a6"

func TestPBKDF2Vector(t *testing.T) {
	d := form{hash: PBKDF2}.newDigest("test", "secret")
	if d.String() != vector {
		t.Errorf("got %s", d)
	}
	read, err := parseDigest(vector)
	if err != nil {
		t.Fatal(err)
	}
	if !read.equal(read.form.compute("test", "secret", nil)) || read.equal(read.form.compute("test", "Secret", nil)) || read.equal(read.form.compute("tests", "ecret", nil)) {
		t.Error("the vector is not compared as it should be")
	}
}

// RFC 9106 has a vector with a secret and associated data, which PHC strings lack;
// this one is of the reference implementation's command line:
// echo -n password | argon2 somesalt -id -t 2 -m 16 -p 1 -l 32
func TestArgon2idVector(t *testing.T) {
	const phc = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	d, err := parseDigest(phc)
	if err != nil {
		t.Fatal(err)
	}
	if !d.equal(d.form.compute("anybody", "password", d.salt)) {
		t.Error("the vector's password is refused")
	}
	if d.String() != phc {
		t.Errorf("written as %s", d)
	}
}

func TestDigestFaults(t *testing.T) {
	const salt, sum = "c29tZXNhbHQ", "CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	const phc = "$argon2id$v=19$m=65536,t=2,p=1$" + salt + "$" + sum
	for _, c := range []struct{ text, want string }{
		{"hunter2", "neither an argon2id hash nor 64 lowercase hex digits"},
		{strings.ToUpper(vector), "lowercase"},
		{vector[2:], "neither"},
		{"$2b$12$abc", "of another kind"},
		{"$argon2i$v=19$m=65536,t=2,p=1$" + salt + "$" + sum, "of another kind"},
		{"$argon2id$v=16$m=65536,t=2,p=1$" + salt + "$" + sum, "of another kind"},
		{phc + "$", "4 parts"},
		{strings.Replace(phc, "m=65536,", "", 1), "other parameters"},
		{strings.Replace(phc, "t=2", "t=02", 1), "other parameters"},
		{strings.Replace(phc, "t=2", "t=-2", 1), "other parameters"},
		{strings.Replace(phc, "t=2", "t=0", 1), "passes 1 to 64"},
		{strings.Replace(phc, "p=1", "p=65", 1), "65 threads"},
		{strings.Replace(phc, "m=65536", "m=2097152", 1), "memory"},
		{strings.Replace(phc, "m=65536", "m=7", 1), "memory"},
		{strings.Replace(phc, salt, "c29tZQ", 1), "salt of 8 to 64"},
		{phc + "=", "without padding"},
	} {
		d, err := parseDigest(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, %v, want %q", c.text, d, err, c.want)
		} else if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), sum) {
			t.Errorf("the error shows what stood there: %v", err)
		}
	}
}

func TestRow(t *testing.T) {
	u := User{Name: "test", Enabled: true, Roles: []string{"a", "b"}, Claims: []string{"x,y"}}
	row, err := Row(u, "secret", Options{Hash: PBKDF2, MinPassword: 6})
	if err != nil || row != `test,`+vector+`,true,a:b,"x,y"` {
		t.Errorf("got %s, %v", row, err)
	}
	if _, err := Row(u, "secret", Options{}); err == nil || !strings.Contains(err.Error(), "6 bytes, and must have 8 to 1024") {
		t.Errorf("a short password: %v", err)
	}
	if _, err := Row(User{}, "long enough", Options{}); err == nil {
		t.Error("a row without a name")
	}
}
