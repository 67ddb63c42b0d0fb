package api

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// Doctor finds what is wrong with the installation.
type Doctor interface {
	Diagnose(ctx context.Context) (recoup.Diagnosis, error)
}

func (a *API) diagnose(c *httpapi.Call, _ *struct{}) (recoup.Diagnosis, error) {
	return a.Doctor.Diagnose(c.Context())
}
