// Package flogo reads the files of Flogo apps (Project Flogo's flogo.json of app
// model 1.1, and what TIBCO Flogo writes in the same form), for the parts that
// package flow has as well: timers, REST and gRPC triggers; log, REST, gRPC, mapper,
// subflow and return activities; links with conditions; mappings and their
// expressions. What it does not read is an error that says where it is and what to
// do instead, so that no file runs otherwise than it did.
//
// docs/spec/flow-flogo.md has each part, and what becomes of it. An app is made a
// flow file ([Convert]), which package flow then reads; its errors are told for
// the places in the app.
package flogo
