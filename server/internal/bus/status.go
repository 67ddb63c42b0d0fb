package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Status says how the bus does. What it cannot say while the bus is away is left out, and
// so is what only the ledger knows.
func (b *Conn) Status(ctx context.Context) (Bus, error) {
	consumer, _, cause := b.line()
	s := Bus{Enabled: true, Up: consumer != nil, Server: b.conn.ConnectedServerVersion(), Gaps: []BusGap{}}
	if consumer == nil {
		if s.Cause = ErrAway.Error(); errors.Is(cause, ErrUnfit) || errors.Is(cause, ErrRefused) {
			s.Cause = cause.Error()
		}
		return s, nil
	}
	if denial := b.lacks(); denial != nil {
		s.Cause = denial.Error()
	}
	ctx, cancel := context.WithTimeout(ctx, b.o.AckTimeout)
	defer cancel()
	stream, err := b.js.Stream(ctx, Stream)
	if err != nil {
		return s, errors.Join(ErrAway, err)
	}
	pending, err := consumer.Info(ctx)
	if err != nil {
		return s, errors.Join(ErrAway, err)
	}
	quarantine, err := b.js.Stream(ctx, QuarantineStream)
	if err != nil {
		return s, errors.Join(ErrAway, err)
	}
	s.Quarantined = int64(quarantine.CachedInfo().State.Msgs)
	s.Stream = streamStatus(stream.CachedInfo())
	s.Stream.Waiting, s.Stream.InFlight = int64(pending.NumPending)+int64(pending.NumAckPending), int64(pending.NumAckPending)
	return s, nil
}

// lacks is the permission that was found missing since the bus is up.
func (b *Conn) lacks() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.denial
}

func streamStatus(info *jetstream.StreamInfo) BusStream {
	s := BusStream{
		Replicas: info.Config.Replicas, Bytes: int64(info.State.Bytes), MaxBytes: info.Config.MaxBytes,
		First: int64(info.State.FirstSeq), Last: int64(info.State.LastSeq),
	}
	if oldest := info.State.FirstTime.UTC(); info.State.Msgs > 0 {
		s.Oldest = &oldest
	}
	if info.Cluster == nil {
		return s
	}
	s.Leader = info.Cluster.Leader
	for _, peer := range info.Cluster.Replicas {
		s.Followers = append(s.Followers, BusPeer{Name: peer.Name, Current: peer.Current, Offline: peer.Offline, Lag: int64(peer.Lag)})
	}
	return s
}

// Server is what the monitoring of a server says.
type Server struct {
	Monitor    string
	Name       string
	Version    string
	JetStream  bool
	SyncAlways bool // else acknowledged messages may not be on disk for minutes
	Err        error
}

// maxVarz bounds what is read of a server's answer, and maxWord what of it is shown.
const (
	maxVarz = 1 << 20
	maxWord = 100
)

// monitors asks the servers that the operator has named, and nobody whom these name.
var monitors = http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Servers asks the monitoring of the servers, as far as it is known where that is.
func (b *Conn) Servers(ctx context.Context) (list []Server) {
	for _, address := range b.o.Monitors {
		list = append(list, askServer(ctx, address))
	}
	return list
}

func askServer(ctx context.Context, address string) Server {
	s := Server{Monitor: hidden(address)}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(address, "/")+"/varz", nil)
	if err != nil {
		s.Err = err
		return s
	}
	answer, err := monitors.Do(request)
	if err != nil {
		s.Err = err
		return s
	}
	defer func() { _ = answer.Body.Close() }()
	var varz struct {
		Name      string `json:"server_name"`
		Version   string `json:"version"`
		JetStream struct {
			Config *struct {
				SyncAlways bool `json:"sync_always"`
			} `json:"config"`
		} `json:"jetstream"`
	}
	if answer.StatusCode != http.StatusOK {
		s.Err = fmt.Errorf("it answers %s", word(answer.Status))
		return s
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxVarz)).Decode(&varz); err != nil {
		s.Err = errors.New("its answer to /varz is not that of a NATS server")
		return s
	}
	s.Name, s.Version, s.JetStream = word(varz.Name), word(varz.Version), varz.JetStream.Config != nil
	s.SyncAlways = s.JetStream && varz.JetStream.Config.SyncAlways
	return s
}

// word is a text of a server's as far as it is shown.
func word(s string) string { return s[:min(len(s), maxWord)] }

// hidden is an address without a password.
func hidden(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil {
		return address
	}
	u.User = nil
	return u.String()
}
