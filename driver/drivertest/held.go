package drivertest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/wherryhq/wherry/driver"
)

// A held delivery is one that belongs to the suite, with what it was when it came.
type held struct {
	d    *driver.Delivery
	copy driver.Delivery
}

// hold takes a picture of d.
func hold(d *driver.Delivery) held {
	c := *d
	c.Key = bytes.Clone(d.Key)
	c.Body = bytes.Clone(d.Body)
	c.Headers = slices.Clone(d.Headers)
	for i := range c.Headers {
		c.Headers[i].Key = string([]byte(c.Headers[i].Key))
		c.Headers[i].Value = string([]byte(c.Headers[i].Value))
	}
	c.ContentType = string([]byte(d.ContentType))
	c.ID.Text = string([]byte(d.ID.Text))
	c.Topic = string([]byte(d.Topic))
	c.Control = d.Control.Clone()
	return held{d: d, copy: c}
}

// changed says what is no longer as it was; "" when everything is.
func (h *held) changed() string {
	d, c := h.d, &h.copy
	switch {
	case d.Token != c.Token || d.Tenure != c.Tenure:
		return fmt.Sprintf("token %v of tenure %d, was %v of %d", d.Token, d.Tenure, c.Token, c.Tenure)
	case d.Slot != c.Slot:
		return fmt.Sprintf("slot %d, was %d", d.Slot, c.Slot)
	case d.Topic != c.Topic || d.Delivered != c.Delivered:
		return fmt.Sprintf("topic %q delivered %d, was %q %d", d.Topic, d.Delivered, c.Topic, c.Delivered)
	}
	was := driver.Record{
		ID: c.ID, Key: c.Key, Body: c.Body, Headers: c.Headers, ContentType: c.ContentType, Control: c.Control,
	}
	return difference(&was, d)
}

// tokens finds a pair of token and tenure that is used twice.
type tokens map[tokenKey]string

type tokenKey struct {
	tenure uint64
	token  driver.Token
}

// reused returns the id of the earlier delivery with d's pair.
func (ts tokens) reused(d *driver.Delivery) (string, bool) {
	k := tokenKey{tenure: d.Tenure, token: d.Token}
	id, used := ts[k]
	if !used {
		ts[k] = string([]byte(d.ID.String()))
	}
	return id, used
}
