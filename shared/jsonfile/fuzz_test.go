package jsonfile_test

import (
	"encoding/json"
	"testing"

	"github.com/quotegate/quotegate/shared/jsonfile"
)

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"n","rows":[{"id":1}],"map":{"a":{"id":3}}}`))
	f.Add([]byte(`{"a":{"b":[[],{}]}}`))
	f.Add([]byte(`null`))
	f.Add([]byte(`{"name":"n","":[]}`))
	f.Add([]byte(`{"at":{},"size":-1,"text":null,"tags":{"a":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got file
		err := jsonfile.Decode(data, &got).Err() // must not panic
		if err == nil && json.Unmarshal(data, new(file)) != nil {
			t.Errorf("%q: got no error", data)
		}
	})
}
