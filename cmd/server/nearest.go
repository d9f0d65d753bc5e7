package main

// nearest returns the name of a list that most resembles a misspelt one, or "" if none is near:
// within a third of its characters.
func nearest(misspelt string, names []string) string {
	best, bestDistance := "", len(misspelt)/3+1
	for _, name := range names {
		if d := editDistance(misspelt, name); d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// editDistance returns how many bytes must be inserted, removed or replaced to turn a into b
// (the Levenshtein distance).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
