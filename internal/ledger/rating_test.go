package ledger

import "laststand/internal/rating"

// ratingOf is some rating; 0 is the zero value.
func ratingOf(value float64) rating.Rating { return rating.Rating{R: value} }
