// Package namefile stores snapshots of the views of nicknames as files in a folder,
// one per game. It implements identity.Snapshots.
//
// Several processes may share the folder. The package writes a file under another name
// and then renames it, so that a reader never sees part of a file. The last written file
// replaces the earlier ones. The reader checks whether the file belongs to its ledger.
//
// Words: a view is a node's filter of the nicknames in use. A snapshot is its stored
// form.
//
// The main type is [Folder]. Start reading at Folder.Save. The package must not know
// the content of a snapshot.
package namefile
