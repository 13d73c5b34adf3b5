module github.com/wherryhq/wherry

go 1.26.0
