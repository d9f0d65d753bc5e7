// Package namefile stores snapshots of the views of nicknames as files in a folder,
// one per game. It implements identity.Snapshots.
//
// Several processes may share the folder. A file is written under another name and
// then renamed, so that a reader sees a whole file. The last one written stays. The
// reader checks whether it belongs to its ledger.
//
// Words: a view is a node's filter of the nicknames in use. A snapshot is its stored
// form.
//
// The main type is [Folder]. Start reading at Folder.Save. The package must not know
// the content of a snapshot.
package namefile
