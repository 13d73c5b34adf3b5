package drivertest

import "testing"

func BenchmarkInProcess(b *testing.B) { Bench(b, broken{}.harness()) }
