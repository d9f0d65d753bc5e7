package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// DeviceChange puts a new secret in place of a player's device's own.
type DeviceChange struct {
	Game, Player string
	From, To     string
}

// RotateDevice has the new secret speak for the guest from now on, and the old one
// for nobody. Called again it changes nothing. Tokens stay in force.
// ErrBadDevice, ErrWrongDevice.
func (r *Registry) RotateDevice(ctx context.Context, c DeviceChange) error {
	switch {
	case !validDevice(c.From):
		return ErrBadDevice
	case !validDevice(c.To):
		return fmt.Errorf("%w: so must new_device", ErrBadDevice)
	case c.From == c.To:
		return fmt.Errorf("%w: new_device must be another one", ErrBadDevice)
	}
	return r.Devices.RotateDevice(ctx, c.Game, c.Player, hashDevice(c.Game, c.From), hashDevice(c.Game, c.To))
}

// ResetDevice gives a guest, named by its id or its account's, a new device. The
// former one is a stranger's from then on. ErrNotFound, ErrNotGuest.
func (r *Registry) ResetDevice(ctx context.Context, game, id string) (player, device string, err error) {
	device = rand.Text()
	player, err = r.Devices.ResetDevice(ctx, game, id, hashDevice(game, device))
	if err != nil {
		return "", "", err
	}
	return player, device, nil
}

func validDevice(s string) bool {
	return len(s) >= 22 && len(s) <= 64 && !strings.ContainsFunc(s, func(c rune) bool {
		return !isAlphanumeric(c) && c != '_' && c != '-'
	})
}

// hashDevice keeps secrets out of the ledger. They are random and long, so a
// plain hash does; the game is hashed in, so that equal secrets of two games
// have nothing in common.
func hashDevice(game, device string) string {
	sum := sha256.Sum256([]byte("laststand device\x00" + game + "\x00" + device))
	return hex.EncodeToString(sum[:])
}
