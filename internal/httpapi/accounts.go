package httpapi

import (
	"net/http"

	"laststand/internal/identity"
)

// deleteMe erases the player that the bearer token names.
func (h playerRoutes) deleteMe(w http.ResponseWriter, r *request) error {
	claims, err := h.authenticateChange(r)
	if err != nil {
		return err
	}
	if err := h.Limits.Erasures.Take(r.Context(), h.addressKey(r), 1); err != nil {
		return err
	}
	if err := h.Accounts.Erase(r.Context(), r.game, claims.Subject); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

type accountBody struct {
	Token string `json:"token" need:"true"`
}

type accountResponse struct {
	PlayerID string `json:"player_id"`
	Account  string `json:"account"`
}

// putAccount links the guest of the bearer token to the account of the token in
// the body.
func (h playerRoutes) putAccount(w http.ResponseWriter, r *request) error {
	claims, err := h.authenticateChange(r)
	if err != nil {
		return err
	}
	var body accountBody
	if err := readBody(w, r.Request, &body); err != nil {
		return err
	}
	account, err := h.Accounts.LinkAccount(r.Context(), identity.LinkRequest{Guest: claims, Token: body.Token})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, accountResponse{claims.Subject, account})
}

type deviceBody struct {
	Device    string `json:"device" need:"true"`
	NewDevice string `json:"new_device" need:"true"`
}

// putDevice replaces the device secret of a guest.
func (h playerRoutes) putDevice(w http.ResponseWriter, r *request) error {
	claims, err := h.authenticateChange(r)
	if err != nil {
		return err
	}
	var body deviceBody
	if err := readBodyLimited(maxGuestBody, w, r.Request, &body); err != nil {
		return err
	}
	change := identity.DeviceChange{Game: r.game, Player: claims.Subject, OldSecret: body.Device, NewSecret: body.NewDevice}
	if err := h.Accounts.RotateDevice(r.Context(), change); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]string{"player_id": claims.Subject})
}
