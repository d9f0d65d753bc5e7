package ledger

import (
	"context"
	"errors"
	"fmt"

	"laststand/internal/identity"
)

const (
	rotateDevice        = `UPDATE players SET device_hash = $4 WHERE game = $1 AND id = $2 AND device_hash = $3`
	resetDevice         = `UPDATE players SET device_hash = $3 WHERE game = $1 AND id = $2`
	detachDevice        = `UPDATE players SET device_hash = NULL WHERE game = $1 AND id = $2`
	deleteLinkedAccount = `DELETE FROM accounts WHERE game = $1 AND subject = $2 AND player = $3`
)

// RotateDevice implements identity.Devices.
func (s *Players) RotateDevice(ctx context.Context, game, player, oldHash, newHash string) error {
	n, err := s.exec(ctx, rotateDevice, game, player, oldHash, newHash)
	switch {
	case isUniqueViolation(err):
		return errDeviceInUse
	case err != nil:
		return fmt.Errorf("ledger: rotate a device: %w", err)
	case n > 0:
		return nil
	}
	guest, err := s.Guest(ctx, game, newHash) // a repeated call has changed the hash before
	switch {
	case err == nil && guest.ID == player:
		return nil
	case err == nil || errors.Is(err, identity.ErrNotFound):
		return identity.ErrWrongDevice
	}
	return err
}

var errDeviceInUse = fmt.Errorf("%w: the new one is in use already; generate another", identity.ErrBadDevice)

// ResetDevice implements identity.Devices.
func (s *Players) ResetDevice(ctx context.Context, game, id, hash string) (player string, err error) {
	defer describe(&err, "reset a device")
	err = inAccessChange(ctx, s.database, func(c *accessChange) error {
		linkedPlayer, found, err := c.db.accountPlayer(ctx, c, game, id)
		switch {
		case err != nil:
			return err
		case found && linkedPlayer == id:
			return fmt.Errorf("%w: it has no device", identity.ErrNotGuest)
		}
		if player = id; found {
			player = linkedPlayer
		}
		reset, err := c.exec(ctx, resetDevice, game, player, hash)
		if err == nil && reset == 0 {
			err = identity.ErrNotFound
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return player, nil
}

// UnlinkAccount implements identity.Accounts. It also ends the sessions of the account's tokens.
func (a *Accounts) UnlinkAccount(ctx context.Context, game, id string) (account string, err error) {
	defer describe(&err, "unlink account")
	err = inAccessChange(ctx, a.database, func(c *accessChange) error {
		subjects, err := c.subjectIDs(ctx, game, id)
		switch {
		case err != nil:
			return err
		case len(subjects) < 2:
			return identity.ErrNoAccount
		}
		account = subjects[0]
		if _, err := c.exec(ctx, deleteLinkedAccount, game, account, subjects[1]); err != nil {
			return err
		}
		return c.save(ctx, identity.Revocation{
			Game: game, Kind: identity.KindUnlinked, ID: account, EndsAt: c.now + identity.SessionEndWindow.Milliseconds(),
			Reason: "unlinked from a guest",
		})
	})
	return account, err
}
