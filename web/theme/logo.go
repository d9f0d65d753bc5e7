package theme

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/jpeg" // the formats of logos
	_ "image/png"
)

// Limits of a logo. A first visit to the page stays below 120 kB with the largest logo.
const (
	MaxLogoBytes  = 50_000
	minLogoPixels = 32
	maxLogoPixels = 1024
)

// CheckLogo returns the format of a logo: png or jpeg. It refuses other formats, damaged
// files, and images that are too small or too large.
func CheckLogo(content []byte) (format string, err error) {
	if len(content) > MaxLogoBytes {
		return "", fmt.Errorf("the file is larger than %d bytes; use a smaller image", MaxLogoBytes)
	}
	size, format, err := image.DecodeConfig(bytes.NewReader(content))
	if err != nil || format != "png" && format != "jpeg" { // other packages register other formats
		return "", errors.New("the file is no PNG or JPEG image; use one of the two")
	}
	if min(size.Width, size.Height) < minLogoPixels || max(size.Width, size.Height) > maxLogoPixels {
		return "", fmt.Errorf("the image has %d × %d pixels; use %d to %d in each direction", size.Width, size.Height, minLogoPixels, maxLogoPixels)
	}
	if _, _, err := image.Decode(bytes.NewReader(content)); err != nil {
		return "", fmt.Errorf("the image is damaged: %w", err)
	}
	return format, nil
}
