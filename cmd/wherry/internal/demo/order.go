package demo

import (
	"fmt"
	"math/rand/v2"

	"github.com/wherryhq/wherry"
	"github.com/wherryhq/wherry/codec"
)

const topicName = "orders"

// The groups that each order goes to.
const (
	paymentGroup = "payment"
	stockGroup   = "stock"
	reportGroup  = "report"
)

func groups() []string { return []string{paymentGroup, stockGroup, reportGroup} }

// An Order is what the service is about.
type Order struct {
	ID       string `json:"id"`
	Country  string `json:"country"`
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
	Cents    int    `json:"cents"` // of the whole order
}

// ordersTopic is the stream of orders. All three groups share one dead-letter topic.
func ordersTopic() wherry.Topic[Order] {
	return wherry.NewTopic(topicName, codec.JSON[Order]{}, topicOptions()...)
}

func topicOptions() []wherry.TopicOption {
	return []wherry.TopicOption{
		wherry.Fanout(groups()...), wherry.DeadLetterTo(topicName + ".dlq"), wherry.BodyLimit(maxLine),
	}
}

// maxOddity is one in how many orders asks for something that is not sold.
const maxOddity = 50

// countries are where orders come from, the frequent ones more than once.
var countries = []string{"NO", "NO", "NO", "GB", "GB", "NL", "NL", "IS", "FO"}

// An orderBook makes orders up, the same ones for the same seed.
type orderBook struct {
	random *rand.Rand
	made   int
}

func newOrderBook(seed uint64) *orderBook {
	return &orderBook{random: rand.New(rand.NewPCG(seed, seed))}
}

func (b *orderBook) next() Order {
	b.made++
	item := stockItems[b.random.IntN(len(stockItems))]
	o := Order{
		ID:       fmt.Sprintf("A-%06d", b.made),
		Country:  countries[b.random.IntN(len(countries))],
		Item:     item.name,
		Quantity: 1 + b.random.IntN(4),
	}
	o.Cents = o.Quantity * item.cents
	switch b.random.IntN(maxOddity) {
	case 0:
		o.Item = "teapot"
	case 1:
		o.Quantity = 0
	}
	return o
}
