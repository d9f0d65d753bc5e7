package redismatch

import "strconv"

// list, texts, text and number read one element of a script's reply; what is
// not there reads as empty.
func list(reply []any, i int) []any {
	if i >= len(reply) {
		return nil
	}
	l, _ := reply[i].([]any)
	return l
}

func texts(reply []any, i int) []string {
	l := list(reply, i)
	var all []string
	for i := range l {
		all = append(all, text(l, i))
	}
	return all
}

func text(reply []any, i int) string {
	if i >= len(reply) {
		return ""
	}
	s, _ := reply[i].(string)
	return s
}

func number(reply []any, i int) int64 {
	if i >= len(reply) {
		return 0
	}
	switch n := reply[i].(type) {
	case int64:
		return n
	case string:
		parsed, _ := strconv.ParseInt(n, 10, 64) // written as a whole number
		return parsed
	}
	return 0
}
