package bus

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func encode(b *store.EventBatch) []byte { return new(writer).encode(b) }

// What is written is read as it was, and of no message with a changed byte.
func TestCodec(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(0, 20, 60)
		b := store.EventBatch{ID: recoup.ID(rapid.SliceOfN(rapid.ByteMin(1), 16, 16).Draw(t, "id"))}
		for range rapid.IntRange(1, 5).Draw(t, "n") {
			e := store.Event{Timeless: rapid.Bool().Draw(t, "timeless")}
			e.ID, e.CorrelationID = recoup.ID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "event")), b.ID
			e.TS = time.UnixMicro(rapid.Int64Range(-1e15, 4e15).Draw(t, "ts")).UTC()
			e.HTTPStatus = rapid.SampledFrom([]int{0, 100, 599}).Draw(t, "status")
			for _, into := range texts(&e) {
				*into = text.Draw(t, "text")
			}
			if rapid.Bool().Draw(t, "details") {
				e.Details = map[string]any{"retryable": true, "limit": rapid.Int64().Draw(t, "limit"), "field": text.Draw(t, "field")}
			}
			b.Events = append(b.Events, e)
		}
		data := encode(&b)
		if got, err := decode(data); err != nil || !reflect.DeepEqual(got, b) {
			t.Fatalf("got %+v, %v; want %+v", got, err, b)
		}
		at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
		data[at] ^= byte(rapid.IntRange(1, 255).Draw(t, "flip"))
		if _, err := decode(data); !errors.Is(err, ErrUnreadable) {
			t.Fatalf("byte %d changed: %v", at, err)
		}
		if _, err := decode(data[:at]); !errors.Is(err, ErrUnreadable) {
			t.Fatalf("cut at %d: %v", at, err)
		}
	})
}

// Anybody who may publish can send anything, with the checksum that belongs to it.
func FuzzDecode(f *testing.F) {
	whole := encode(&store.EventBatch{ID: recoup.ID{1}, Events: conformance.SampleEvents(3, conformance.Epoch(), time.Second)})
	f.Add(whole[:len(whole)-4])
	f.Add(append([]byte{version, 16: 0}, 0))          // a batch without an id
	f.Add(append([]byte{version, 1, 16: 0}, 0xf4, 3)) // 500 events that are not there
	f.Fuzz(func(t *testing.T, data []byte) {
		data = binary.BigEndian.AppendUint32(data, crc32.Checksum(data, castagnoli))
		b, err := decode(data)
		if err != nil {
			if !errors.Is(err, ErrUnreadable) {
				t.Error(err)
			}
			return
		}
		if len(b.Events) > MaxBatch || b.ID.IsZero() || len(data) > maxMessage {
			t.Errorf("%d events of %v in %d bytes", len(b.Events), b.ID, len(data))
		}
		if again, err := decode(encode(&b)); err != nil || len(again.Events) != len(b.Events) {
			t.Errorf("it is read, and not once it is written again: %v", err)
		}
	})
}

func BenchmarkCodec(b *testing.B) {
	batch := store.EventBatch{ID: recoup.ID{1}, Events: conformance.SampleEvents(MaxBatch, conformance.Epoch(), time.Second)}
	data := encode(&batch)
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for w := new(writer); b.Loop(); {
			w.encode(&batch)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := decode(data); err != nil {
				b.Fatal(err)
			}
		}
	})
}
