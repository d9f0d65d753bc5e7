package config

import (
	"bytes"
	"image"
	"image/png"
	"testing"

	"laststand/internal/testenv"
	"laststand/web"
)

// A game has the look of its section page. What the section leaves out is the default look.
func TestAGameHasTheLookOfItsConfiguration(t *testing.T) {
	t.Parallel()
	path := configFile(t, "games: {quiz: {page: {title: Quiz Night, logo: logo.png, accent: \"#0b3d91\"}}, plain: {}}")
	var logo bytes.Buffer
	testenv.NoError(t, png.Encode(&logo, image.NewGray(image.Rect(0, 0, 64, 64))))
	testenv.WriteBeside(t, path, "logo.png", logo.String())
	c := testenv.Need(Read(path))(t)
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	want := web.DefaultColors()
	want.Accent = "#0b3d91"
	if page := c.Games["quiz"].Page; page.Title != "Quiz Night" || page.Colors() != want {
		t.Errorf("the page is %+v", page)
	}
	if got, err := c.ReadLogo("quiz"); err != nil || !bytes.Equal(got, logo.Bytes()) {
		t.Errorf("the logo has %d bytes, %v", len(got), err)
	}
	if got, err := c.ReadLogo("plain"); err != nil || got != nil || c.Games["plain"].Page.Colors() != web.DefaultColors() {
		t.Errorf("a game without a look has a logo of %d bytes, %v, and %+v", len(got), err, c.Games["plain"].Page)
	}
}
