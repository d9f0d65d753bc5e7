package httpapi

import "laststand/internal/identity"

func (h playerRoutes) deleteMe(r *request) (any, error) {
	claims, err := h.authenticateChange(r)
	if err != nil {
		return nil, err
	}
	if err := h.Limits.Erasures.Take(r.Context(), h.addressKey(r), 1); err != nil {
		return nil, err
	}
	return nil, h.Accounts.Erase(r.Context(), r.game, claims.Subject)
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
func (h playerRoutes) putAccount(r *request) (any, error) {
	claims, err := h.authenticateChange(r)
	if err != nil {
		return nil, err
	}
	var body accountBody
	if err := r.readBody(&body); err != nil {
		return nil, err
	}
	account, err := h.Accounts.LinkAccount(r.Context(), identity.LinkRequest{Guest: claims, Token: body.Token})
	if err != nil {
		return nil, err
	}
	return accountResponse{claims.Subject, account}, nil
}

type deviceBody struct {
	Device    string `json:"device" need:"true"`
	NewDevice string `json:"new_device" need:"true"`
}

func (h playerRoutes) putDevice(r *request) (any, error) {
	claims, err := h.authenticateChange(r)
	if err != nil {
		return nil, err
	}
	var body deviceBody
	if err := r.readBodyLimited(maxGuestBody, &body); err != nil {
		return nil, err
	}
	change := identity.DeviceChange{Game: r.game, Player: claims.Subject, OldSecret: body.Device, NewSecret: body.NewDevice}
	if err := h.Accounts.RotateDevice(r.Context(), change); err != nil {
		return nil, err
	}
	return map[string]string{"player_id": claims.Subject}, nil
}
