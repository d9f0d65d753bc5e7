package redisqueue

// texts, text and number read one element of a script's reply; what is not
// there reads as empty.
func texts(reply []any, i int) []string {
	if i >= len(reply) {
		return nil
	}
	list, _ := reply[i].([]any)
	var all []string
	for i := range list {
		all = append(all, text(list, i))
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
	n, _ := reply[i].(int64)
	return n
}
