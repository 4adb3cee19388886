// Package draw makes pictures of flow files: SVG (1.1) without scripts and fonts of its
// own, the same for the same file, for light and dark surroundings.
//
// Which shape is what is in docs/spec/flow-draw.md. A kind of thing is told by its
// shape and by its word, not by its colour alone. Texts are in a font of one width, so
// that their lengths are known here; what is longer than a box is cut, and whole in the
// box's title.
package draw
