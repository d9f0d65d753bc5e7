package lua

import "strconv"

// Reply is what a script returns, or a list in that. What is not there, or is of
// another type, reads as empty.
type Reply []any

func (r Reply) at(i int) any {
	if i >= len(r) {
		return nil
	}
	return r[i]
}

// List is an element that is a list itself.
func (r Reply) List(i int) Reply {
	l, _ := r.at(i).([]any)
	return l
}

// Texts is a list of texts.
func (r Reply) Texts(i int) []string {
	l := r.List(i)
	var all []string
	for i := range l {
		all = append(all, l.Text(i))
	}
	return all
}

// Text is a text.
func (r Reply) Text(i int) string {
	s, _ := r.at(i).(string)
	return s
}

// Number is a whole number, also one that is written as a text.
func (r Reply) Number(i int) int64 {
	switch n := r.at(i).(type) {
	case int64:
		return n
	case string:
		parsed, _ := strconv.ParseInt(n, 10, 64) // written as a whole number
		return parsed
	}
	return 0
}
