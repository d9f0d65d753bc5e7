// Package nickname checks players' names and titles, and makes up names.
//
// Words of this package:
//
//   - display: the form of a name that players see.
//   - skeleton: the key of a name. Names with the same skeleton count as the same.
//   - lookalikes: characters that look alike and have the same replacement in skeletons.
//   - filter: a Bloom filter of skeletons. It can report without a query that a name is
//     free.
//   - words: the words that names of a game must not contain.
//   - canonical form: a word's skeleton without accents and separators, with digits and
//     signs read as letters. Words are compared in this form.
//   - code: a word that cannot be read as letters, such as 007 or A55.
//   - title: the name of an arena or a team. Titles need not be unique.
//
// The main types are [Name] and [Filter]. Start reading with Parse in name.go, then
// skeleton.go. All functions are pure; a Filter may be shared by goroutines.
//
// The package must not know who holds a name: one unique index over skeletons in the
// ledger decides that.
package nickname
