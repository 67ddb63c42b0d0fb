package api

import (
	"context"

	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Doctor finds what is wrong with the installation.
type Doctor interface {
	Diagnose(ctx context.Context) (wire.Diagnosis, error)
}

func (a *API) diagnose(c *httpapi.Call, _ *struct{}) (wire.Diagnosis, error) {
	return a.Doctor.Diagnose(c.Context())
}
