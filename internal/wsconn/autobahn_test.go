package wsconn

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// frames joins frames of a client.
func frames(all ...[]byte) []byte { return slices.Concat(all...) }

// fill returns a payload of n bytes.
func fill(n int) string { return strings.Repeat("*", n) }

// code returns the payload of a close frame.
func code(n int, reason string) string {
	return string(binary.BigEndian.AppendUint16(nil, uint16(n))) + reason
}

const (
	textByte, textPart, lastPart, part, binaryByte = 0x81, 0x01, 0x80, 0x00, 0x82
	closeByte, pingByte, pongByte                  = 0x88, 0x89, 0x8a
	invalid, tooLarge                              = "invalid", "too large"
)

// autobahnCases are the cases of the Autobahn test suite (fuzzingclient, 1 to 7) for a
// server with messages of at most 4 KiB: what the client sends, and what arrives. The last
// entry of want is the close code of the reply, or the error.
var autobahnCases = map[string]struct {
	sent []byte
	want []string
}{
	"1.1.1 empty text":                {frames(maskedFrame(textByte, "")), []string{"text"}},
	"1.1.2 text of 125":               {frames(maskedFrame(textByte, fill(125))), []string{"text" + fill(125)}},
	"1.1.3 text of 126":               {frames(maskedFrame(textByte, fill(126))), []string{"text" + fill(126)}},
	"1.1.4 text of 127":               {frames(maskedFrame(textByte, fill(127))), []string{"text" + fill(127)}},
	"1.1.5 text of 128":               {frames(maskedFrame(textByte, fill(128))), []string{"text" + fill(128)}},
	"1.1.6 text above the limit":      {frames(maskedFrame(textByte, fill(65535))), []string{tooLarge}},
	"1.2.1 empty binary":              {frames(maskedFrame(binaryByte, "")), []string{"binary"}},
	"1.2.4 binary of 127":             {frames(maskedFrame(binaryByte, fill(127))), []string{"binary" + fill(127)}},
	"2.1 ping":                        {frames(maskedFrame(pingByte, "")), []string{"ping"}},
	"2.2 ping with text":              {frames(maskedFrame(pingByte, "Hello, world!")), []string{"pingHello, world!"}},
	"2.3 ping with bytes":             {frames(maskedFrame(pingByte, "\x00\xff\xfe")), []string{"ping\x00\xff\xfe"}},
	"2.4 ping of 125":                 {frames(maskedFrame(pingByte, fill(125))), []string{"ping" + fill(125)}},
	"2.5 ping of 126":                 {frames(maskedFrame(pingByte, fill(126))), []string{invalid}},
	"2.7 pong without a ping":         {frames(maskedFrame(pongByte, "")), []string{"pong"}},
	"2.9 pong, then ping":             {frames(maskedFrame(pongByte, "a"), maskedFrame(pingByte, "b")), []string{"ponga", "pingb"}},
	"2.10 ten pings":                  {bytes.Repeat(maskedFrame(pingByte, "p"), 10), slices.Repeat([]string{"pingp"}, 10)},
	"3.1 reserved bit 3":              {frames(maskedFrame(textByte|0x10, "x")), []string{invalid}},
	"3.2 reserved bit 2, after text":  {frames(maskedFrame(textByte, "a"), maskedFrame(textByte|0x20, "x")), []string{"texta", invalid}},
	"3.4 reserved bit 1":              {frames(maskedFrame(textByte|0x40, "x")), []string{invalid}},
	"3.6 reserved bits of a ping":     {frames(maskedFrame(pingByte|0x60, "x")), []string{invalid}},
	"3.7 reserved bits of a close":    {frames(maskedFrame(closeByte|0x70, "")), []string{invalid}},
	"5.1 ping in parts":               {frames(maskedFrame(0x09, "a"), maskedFrame(lastPart, "b")), []string{invalid}},
	"5.2 pong in parts":               {frames(maskedFrame(0x0a, "a"), maskedFrame(lastPart, "b")), []string{invalid}},
	"5.3 text in two parts":           {frames(maskedFrame(textPart, "a"), maskedFrame(lastPart, "b")), []string{"textab"}},
	"5.6 ping between parts":          {frames(maskedFrame(textPart, "a"), maskedFrame(pingByte, "p"), maskedFrame(lastPart, "b")), []string{"pingp", "textab"}},
	"5.9 part of no message":          {frames(maskedFrame(lastPart, "a"), maskedFrame(textByte, "b")), []string{invalid}},
	"5.12 first part of no message":   {frames(maskedFrame(part, "a"), maskedFrame(textByte, "b")), []string{invalid}},
	"5.15 part after a whole message": {frames(maskedFrame(textPart, "a"), maskedFrame(lastPart, "b"), maskedFrame(part, "c")), []string{"textab", invalid}},
	"5.18 text within a message":      {frames(maskedFrame(textPart, "a"), maskedFrame(textByte, "b")), []string{invalid}},
	"5.19 five parts with pings": {
		frames(maskedFrame(textPart, "a"), maskedFrame(part, "b"), maskedFrame(pingByte, "1"), maskedFrame(part, "c"), maskedFrame(part, "d"), maskedFrame(pingByte, "2"), maskedFrame(lastPart, "e")),
		[]string{"ping1", "ping2", "textabcde"},
	},
	"9.3 parts above the limit":      {frames(maskedFrame(textPart, fill(4000)), maskedFrame(lastPart, fill(4000))), []string{tooLarge}},
	"6.2.3 a character in parts":     {frames(maskedFrame(textPart, "\xce"), maskedFrame(part, "\xba\xe1"), maskedFrame(lastPart, "\xbd\xb9")), []string{"text\xce\xba\xe1\xbd\xb9"}},
	"7.1.1 text, then close":         {frames(maskedFrame(textByte, "a"), maskedFrame(closeByte, code(1000, ""))), []string{"texta", "1000"}},
	"7.1.3 ping after close":         {frames(maskedFrame(closeByte, code(1000, "")), maskedFrame(pingByte, "")), []string{"1000"}},
	"7.1.5 close within a message":   {frames(maskedFrame(textPart, "a"), maskedFrame(closeByte, code(1000, "")), maskedFrame(lastPart, "b")), []string{"1000"}},
	"7.3.1 close without a code":     {frames(maskedFrame(closeByte, "")), []string{"no code"}},
	"7.3.2 close of one byte":        {frames(maskedFrame(closeByte, "\x03")), []string{invalid}},
	"7.3.4 close with a reason":      {frames(maskedFrame(closeByte, code(1000, "bye"))), []string{"1000"}},
	"7.3.5 close of 125":             {frames(maskedFrame(closeByte, code(1000, fill(123)))), []string{"1000"}},
	"7.3.6 close of 126":             {frames(maskedFrame(closeByte, code(1000, fill(124)))), []string{invalid}},
	"7.5.1 reason with broken UTF-8": {frames(maskedFrame(closeByte, code(1000, "\xce\xba\xed\xa0\x80"))), []string{invalid}},
}

func init() {
	for _, opcode := range []byte{3, 4, 5, 6, 7, 11, 12, 13, 14, 15} {
		name := fmt.Sprintf("4 opcode %d", opcode)
		autobahnCases[name] = struct {
			sent []byte
			want []string
		}{frames(maskedFrame(textByte, "a"), maskedFrame(finalBit|opcode, "")), []string{"texta", invalid}}
	}
	for n, isAllowed := range map[int]bool{
		1000: true, 1001: true, 1002: true, 1003: true, 1007: true, 1008: true, 1009: true, 1010: true, 1011: true, 3000: true, 3999: true, 4000: true, 4999: true,
		0: false, 999: false, 1004: false, 1005: false, 1006: false, 1016: false, 1100: false, 2000: false, 2999: false, 5000: false, 65535: false,
	} {
		want := invalid
		if isAllowed {
			want = fmt.Sprint(n)
		}
		autobahnCases[fmt.Sprint("7.7, 7.9 code ", n)] = struct {
			sent []byte
			want []string
		}{maskedFrame(closeByte, code(n, "")), []string{want}}
	}
}

// sentConn is a readOnlyConn that records what the server writes.
type sentConn struct {
	readOnlyConn
	sent bytes.Buffer
}

func (c *sentConn) Write(b []byte) (int, error) { return c.sent.Write(b) }

// readStream returns what a connection reads from a stream, and how it ends.
func readStream(parker *Parker, stream io.Reader) (got []string) {
	socket := &sentConn{readOnlyConn: readOnlyConn{Reader: stream}}
	conn := parker.NewConn(socket, func() {}) // the loop below continues itself
	kinds := map[Kind]string{Text: "text", Binary: "binary", Ping: "ping", Pong: "pong"}
	for {
		message, err := conn.ReadMessage()
		switch {
		case errors.Is(err, ErrSuspended): // it is parked
			continue
		case errors.Is(err, ErrInvalidFrame):
			return append(got, invalid)
		case errors.Is(err, ErrTooLarge):
			return append(got, tooLarge)
		case err != nil && socket.sent.Len() == 2:
			return append(got, "no code")
		case err != nil && socket.sent.Len() > 2:
			return append(got, fmt.Sprint(binary.BigEndian.Uint16(socket.sent.Bytes()[2:])))
		case err != nil:
			return got
		}
		got = append(got, kinds[message.Kind]+string(message.Payload))
	}
}

// The connection passes the Autobahn cases, whether the bytes arrive together or one by
// one. Cases 9, 12 and 13 test sizes above the limit and compression, which the server does
// not offer. Package ws refuses broken UTF-8 (case 6) with the code of the wire contract.
func TestAutobahnCases(t *testing.T) {
	t.Parallel()
	parker := newParker(t, nil)
	for name, test := range autobahnCases {
		for delivery, stream := range map[string]io.Reader{
			"together": bytes.NewReader(test.sent), "byte by byte": iotest.OneByteReader(bytes.NewReader(test.sent)),
		} {
			if got := readStream(parker, stream); !slices.Equal(got, test.want) {
				t.Errorf("%s, %s: %.100q, want %.100q", name, delivery, got, test.want)
			}
		}
	}
}
