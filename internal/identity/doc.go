// Package identity finds the player of a client in a game. A guest proves who they are by
// a device secret, other players by tokens of an operator's login service. The package
// also assigns nicknames, which are unique per game.
//
// Words of the package:
//
//   - claims: the content of a verified token.
//   - subject: the id in a token; a player's own id or a linked account.
//   - account: the subject of an operator's login service that is linked to a guest.
//   - device: the secret of a guest; only its hash is stored.
//   - revocation: a ban, a revoked token or subject, or an erased player.
//   - skeleton: a nickname reduced to what makes it unique.
//   - view: this node's filter (a Bloom filter) of the nicknames in use.
//   - reservation: a suggested nickname that only its requester can claim for 20 s.
//
// The main types are [Registry], [Tokens] and [Revocations]. Start reading at
// Registry.Verify, Registry.Ensure and Registry.Guest.
//
// The package must not know HTTP, websockets, SQL or Redis. The interfaces Players,
// Devices, Names, Keys and RevocationStore are implemented by package ledger.
package identity
