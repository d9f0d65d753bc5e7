package web

import (
	"bytes"
	"image"
	"image/color/palette"
	"image/gif"
	"image/jpeg"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
)

// picture encodes an image of noise, which compresses badly.
func picture(t *testing.T, width, height int, encode func(*bytes.Buffer, image.Image) error) []byte {
	t.Helper()
	img, random := image.NewGray(image.Rect(0, 0, width, height)), rand.New(rand.NewPCG(1, 1))
	for i := range img.Pix {
		img.Pix[i] = uint8(random.IntN(256))
	}
	var text bytes.Buffer
	if err := encode(&text, img); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func asPNG(w *bytes.Buffer, img image.Image) error  { return png.Encode(w, img) }
func asJPEG(w *bytes.Buffer, img image.Image) error { return jpeg.Encode(w, img, nil) }
func asGIF(w *bytes.Buffer, img image.Image) error {
	flat := image.NewPaletted(img.Bounds(), palette.Plan9)
	return gif.Encode(w, flat, nil)
}

func TestLogosAreChecked(t *testing.T) {
	t.Parallel()
	valid := picture(t, 64, 32, asPNG)
	for name, test := range map[string]struct {
		content []byte
		want    string // the format, or a part of the error
	}{
		"PNG":           {valid, "png"},
		"JPEG":          {picture(t, 100, 100, asJPEG), "jpeg"},
		"GIF":           {picture(t, 64, 64, asGIF), "no PNG or JPEG image"},
		"SVG":           {[]byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), "no PNG or JPEG image"},
		"an empty file": {nil, "no PNG or JPEG image"},
		"half a file":   {valid[:len(valid)/2], "damaged"},
		"a tiny image":  {picture(t, 31, 64, asPNG), "31 × 64 pixels; use 32 to 1024"},
		"a wide image":  {picture(t, 1025, 32, asPNG), "1025 × 32 pixels"},
		"a large file":  {picture(t, 400, 400, asPNG), "larger than 50000 bytes"},
	} {
		format, err := CheckLogo(test.content)
		if err == nil && format != test.want || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %q, %v; want %q", name, format, err, test.want)
		}
	}
}
