module github.com/wherryhq/wherry/codecs/fastjson

go 1.26.0

require (
	github.com/segmentio/asm v1.1.3
	github.com/segmentio/encoding v0.5.4
	github.com/wherryhq/wherry v0.0.0
)

require golang.org/x/sys v0.0.0-20211110154304-99a53858aa08 // indirect

replace github.com/wherryhq/wherry => ../..
