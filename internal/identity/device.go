package identity

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// DeviceChange asks to replace the device secret of a player.
type DeviceChange struct {
	Game, Player         string
	OldSecret, NewSecret string // secrets in plain text, not hashes
}

// RotateDevice replaces the device secret of a guest. A repeated call changes nothing. The
// guest's tokens stay valid. Errors are ErrBadDevice for a secret of the wrong form, and
// ErrWrongDevice if OldSecret is not the guest's.
func (r *Registry) RotateDevice(ctx context.Context, change DeviceChange) error {
	switch {
	case !validDevice(change.OldSecret):
		return ErrBadDevice
	case !validDevice(change.NewSecret):
		return fmt.Errorf("%w: so must new_device", ErrBadDevice)
	case change.OldSecret == change.NewSecret:
		return fmt.Errorf("%w: new_device must be another one", ErrBadDevice)
	}
	return r.Devices.RotateDevice(ctx, change.Game, change.Player, hashDevice(change.Game, change.OldSecret), hashDevice(change.Game, change.NewSecret))
}

// ResetDevice gives a guest a new device secret and returns it. The parameter id names the
// guest, or the account that is linked to the guest. The server no longer accepts the
// former secret. Errors are ErrNotFound and ErrNotGuest.
func (r *Registry) ResetDevice(ctx context.Context, game, id string) (player, device string, err error) {
	device = rand.Text()
	player, err = r.Devices.ResetDevice(ctx, game, id, hashDevice(game, device))
	if err != nil {
		return "", "", err
	}
	return player, device, nil
}

func validDevice(device string) bool {
	return len(device) >= 22 && len(device) <= 64 && !strings.ContainsFunc(device, func(c rune) bool {
		return !isAlphanumeric(c) && c != '_' && c != '-'
	})
}

// hashDevice returns the hash that the ledger stores instead of a device secret. Secrets
// are random and long, so a plain hash is enough. The hash contains the game, so that equal
// secrets in two games have different hashes.
func hashDevice(game, device string) string {
	sum := sha256.Sum256([]byte("laststand device\x00" + game + "\x00" + device))
	return hex.EncodeToString(sum[:])
}
