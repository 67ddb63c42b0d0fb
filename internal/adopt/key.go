package adopt

import "context"

func (r *Runner) fill(ctx context.Context, p *Plan, s Step) error       { return nil }
func (r *Runner) buildIndex(ctx context.Context, p *Plan, s Step) error { return nil }
