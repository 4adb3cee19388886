package flogo_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/flow/flogo"
)

// logged is the message of the client's log step, and the errors, if an expression of
// Flogo stands there.
func logged(t *testing.T, message string) (string, error) {
	t.Helper()
	text := string(app(t, "hello-client-rest"))
	const old = `"=$activity[ask].data.text"`
	if !strings.Contains(text, old) {
		t.Fatal("the app has no such message")
	}
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(message)
	made, err := flogo.Convert("a.json", []byte(strings.Replace(text, old, `"`+quoted+`"`, 1)), flogo.Options{})
	_, message, _ = strings.Cut(string(made), "message: ")
	return strings.TrimSuffix(message, "\n"), err
}

// Expressions become those of flows that mean the same.
func TestExpressions(t *testing.T) {
	for flogoText, want := range map[string]string{
		`plain $flow.name`:                    `plain $flow.name`,
		`=$flow.name`:                         `${{ inputs.name }}`,
		`=$.name`:                             `${{ inputs.name }}`,
		`=$flow["name"]`:                      `${{ inputs.name }}`,
		`=$property["NAME"]`:                  `${{ settings.NAME }}`,
		`=$activity[ask].data.list[0]["a b"]`: `${{ steps.ask.list[0]['a b'] }}`,
		`=$activity[ask].status`:              `200`,
		`='it''s'`:                            ``,
		"=`it's`":                             `it's`,
		`="a\nb"`:                             `"a\nb"`,
		`=true`:                               `true`,
		`=nil`:                                `null`,
		`=1 + 2 * 3`:                          `${{ 1 + 2 * 3 }}`,
		`=(1 + 2) * 3`:                        `${{ (1 + 2) * 3 }}`,
		`=1 - (2 - 3)`:                        `${{ 1 - (2 - 3) }}`,
		`=7 / 2`:                              `${{ int(7 / 2) }}`,
		`=7 / 2.0`:                            `${{ 7 / 2.0 }}`,
		`=-(1 + 2)`:                           `${{ -(1 + 2) }}`,
		`=!(1 == 2) && 3 > 2 || false`:        `${{ !(1 == 2) && 3 > 2 || false }}`,
		`="a" + $flow.name + 1`:               `a${{ inputs.name }}${{ 1 }}`,
		`=$flow.name == "Ada" ? "a" : "b"`:    `${{ if(inputs.name == 'Ada', 'a', 'b') }}`,
		`=string.concat("a", 1, "b")`:         `a${{ 1 }}b`,
		`=string.concat("${{", "}}")`:         `${{ concat('${{', '}}') }}`,
		`=string.len($flow.name)`:             `${{ length(bytes(inputs.name)) }}`,
		`=len("é")`:                           `${{ length(bytes('é')) }}`,
		`=len($activity[ask].data)`:           `${{ length(steps.ask) }}`,
		`=string.toUpper(string.trim($flow.name))`:   `${{ upper(trim(inputs.name)) }}`,
		`=string.equalsIgnoreCase($flow.name,"ADA")`: `${{ lower(inputs.name) == lower('ADA') }}`,
		`=coerce.toInt("12") + 1`:                    `${{ int('12') + 1 }}`,
		`=isDefined($activity[ask].data.text)`:       `${{ steps.ask.text != null }}`,
	} {
		got, err := logged(t, flogoText)
		if want == "" {
			if err == nil {
				t.Errorf("%s becomes %s, which should be an error", flogoText, got)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s becomes %s, want %s: %v", flogoText, got, want, err)
		}
	}
}

// Mistakes in expressions are told where they are.
func TestExpressionErrors(t *testing.T) {
	const at = 64 // the column of what follows "="
	for flogoText, want := range map[string]struct {
		column int
		text   string
	}{
		`=`:                       {0, "a value should stand here, not the end"},
		`=1 +`:                    {3, "a value should stand here, not the end"},
		`=1 2`:                    {2, "'2' does not belong here"},
		`=(1`:                     {2, `")" should follow, not the end`},
		`='a`:                     {0, "the text has no end"},
		`=1 ? 2`:                  {5, `":" should follow`},
		`=1e999`:                  {0, `"1e999" is no number`},
		`=name`:                   {0, `"name" is no value: paths begin with $`},
		`=len(1`:                  {5, `"," or ")" should follow`},
		`=len()`:                  {0, "len has 0 arguments here: it takes 1"},
		`=string.shout(1)`:        {0, `the function "string.shout" is not read`},
		`=$flow.nam`:              {6, `the flow has no input "nam"`},
		`=$activity[log].x`:       {0, `there is no task "log" that has run before this one`},
		`=$activity[ask].headers`: {0, "of what a rest activity gives, this is not read"},
		`=$activity[ask`:          {9, "the bracket has no end"},
		`=$env[HOME]`:             {0, "environment variables are not read"},
		`=$iteration[key]`:        {0, "$iteration is not read: there are no loops"},
		`=$error.message`:         {0, "$error is not read"},
		`=$activity[ask].data.a + $activity[ask].data.b`: {22, "whether this + adds numbers or joins texts is not known"},
	} {
		_, err := logged(t, flogoText)
		var errs flow.Errors
		if !errors.As(err, &errs) || len(errs) != 1 || errs[0].Line != 49 || errs[0].Column != at+want.column || !strings.HasPrefix(errs[0].Text, want.text) {
			t.Errorf("%s: got\n%v\nwant column %d: %s", flogoText, err, at+want.column, want.text)
		}
	}
}
