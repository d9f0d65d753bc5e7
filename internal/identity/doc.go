// Package identity knows who somebody is in a game: guests by a device secret,
// players of an operator's own login service by its tokens, and the nicknames
// of both. Tokens are JWTs (RFC 7519) signed with a key of their game.
//
// A device secret is kept as a hash and never logged; neither is a token.
package identity
