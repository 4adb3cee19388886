// Package auth is the service that tells who somebody is: they log in by a password
// or a claim, and get a token that every service can verify. It is what the
// "lightauth" article compared over JSON-RPC and REST; its paths and methods are
// those of both originals, so that their clients find here what they look for.
//
// [Service] is plain Go and knows no wire. Tokens travel as the metadata
// authorization, which over HTTP is the header. [Guard] protects services with them.
// Accounts are in package users, tokens in package token; what HTTP has beyond calls
// is in package web, which nobody needs who serves no HTTP.
//
// docs/spec/auth.md says what is answered to what, and what withstands whom.
package auth
