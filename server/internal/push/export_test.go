package push

// Cut shortens a text between two characters.
var Cut = cut

// Settle waits until no delivery is on its way. Nobody may run the pusher meanwhile.
func (p *Pusher) Settle() {
	for _, r := range p.receivers {
		r.under.Wait()
	}
}
