module github.com/wherryhq/wherry/bench

go 1.26.0

require github.com/wherryhq/wherry v0.0.0

replace github.com/wherryhq/wherry => ..
