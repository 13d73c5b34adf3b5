package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// ReadFile reads a document from a file and refuses one that is wrong anywhere. The error of a wrong document is [Faults].
func ReadFile(name string) (*Document, error) {
	data, err := os.ReadFile(name) //nolint:gosec // The user names the file.
	if err != nil {
		return nil, fmt.Errorf("cannot read the results: %w", err)
	}
	d, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return d, nil
}

// Decode reads a document and refuses one that is wrong anywhere.
func Decode(data []byte) (*Document, error) {
	d := new(Document)
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(d); err != nil {
		return nil, err
	}
	return d, nil
}

// Encode writes a document, the same bytes for the same document.
func Encode(d *Document) ([]byte, error) {
	data, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}

// WriteFile writes a document to a file, whole or not at all.
func WriteFile(name string, d *Document) error {
	data, err := Encode(d)
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o600)
}
