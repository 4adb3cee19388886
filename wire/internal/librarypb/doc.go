// Package librarypb is a generated service whose HTTP rules have all that
// google.api.http knows. Only tests use it.
package librarypb
