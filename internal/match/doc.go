// Package match plays matches: modes as rules, the steps of a match, and
// their recovery. Nobody owns a match: its state lies behind Store, every step
// is a compare-and-set that one node wins, and a repeated or late one loses
// harmlessly.
package match
