package lua

import "strconv"

// Reply is the reply of a script, or a list in it. Missing values and values of another
// type read as empty.
type Reply []any

func (r Reply) element(i int) any {
	if i >= len(r) {
		return nil
	}
	return r[i]
}

// List returns element i, which is a list.
func (r Reply) List(i int) Reply {
	l, _ := r.element(i).([]any)
	return l
}

// Texts returns element i, which is a list of texts.
func (r Reply) Texts(i int) []string {
	l := r.List(i)
	var all []string
	for i := range l {
		all = append(all, l.Text(i))
	}
	return all
}

// Text returns element i as a text.
func (r Reply) Text(i int) string {
	s, _ := r.element(i).(string)
	return s
}

// Number returns element i as a whole number. The element may be a number or a text.
func (r Reply) Number(i int) int64 {
	switch value := r.element(i).(type) {
	case int64:
		return value
	case string:
		parsed, _ := strconv.ParseInt(value, 10, 64) // 0 if it is no whole number
		return parsed
	}
	return 0
}
