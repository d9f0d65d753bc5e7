// Package theme makes the look of a game's page from what its operator chooses: a few colours
// and a logo. It checks the contrast of every text and control by WCAG 2.2, level AA.
//
// Start reading at [Colors]. The look without any choice is in web/static/css/base.css.
// The package must not know configuration files, and does no I/O.
package theme
