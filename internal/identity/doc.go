// Package identity decides who a client is in a game. A guest is known by a device
// secret, other players by tokens of an operator's login service. The package also
// gives out nicknames, which are unique per game.
//
// Words of the package:
//
//   - claims: what a verified token says.
//   - subject: the id in a token; a player's own id or a linked account.
//   - device: the secret of a guest; only its hash is stored.
//   - revocation: a ban, a revoked token or subject, or an erased player.
//   - skeleton: a nickname reduced to what makes it unique.
//   - view: this node's filter of the nicknames in use.
//   - reservation: a suggested nickname that is kept for its requester for seconds.
//
// The main types are [Registry], [Tokens] and [Revocations]. Start reading at
// Registry.Verify, Registry.Ensure and Registry.Guest.
//
// The package must not know HTTP, websockets, SQL or Redis. The interfaces Players,
// Devices, Names, Keys and RevocationStore are implemented by package ledger.
package identity
