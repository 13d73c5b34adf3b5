//go:build race

package mem

// poisonAlways is true in race builds, where every broker overwrites what is settled.
const poisonAlways = true
