package chaos

func (r *reader) errors(f *Final) {
	const columns = `id(error_id), table_name, coalesce(entity_id, ''), id(correlation_id), state, num(blocking), coalesce(assigned_to, escalated_to, ''),
		num(next_retry_at is not null or expires_at is not null or next_escalation_at is not null or review_due_at is not null)`
	r.each(`select `+columns+`, case when error_id in (select error_id from due) then 1 else 0 end from error
		union all select `+columns+`, 0 from error_archive`, func(scan func(...any)) {
		var e Error
		scan(scanID{&e.ID}, &e.Table, &e.Entity, scanID{&e.Correlation}, &e.State, &e.Blocking, &e.Owner, &e.Deadline, &e.Queued)
		e.Deadline = e.Deadline || e.Queued
		f.Errors = append(f.Errors, e)
	})
}

func (r *reader) history(f *Final) {
	r.each(`select seq, id(error_id), us(at), input, actor, coalesce(reason, ''), coalesce(was_state, ''), coalesce(state, ''), coalesce(worker, ''), id(attempt)
		from error_history order by seq`, func(scan func(...any)) {
		var t Transition
		scan(&t.Seq, scanID{&t.ErrorID}, scanTime{&t.At}, &t.Input, &t.Actor, &t.Reason, &t.From, &t.To, &t.Worker, scanID{&t.Attempt})
		f.History = append(f.History, t)
	})
	r.each(`select seq, entity_id, id(error_id), num(blocks) from gate_log order by seq`, func(scan func(...any)) {
		var g GateEntry
		scan(&g.Seq, &g.Entity, scanID{&g.ErrorID}, &g.Blocks)
		f.Gate = append(f.Gate, g)
	})
	r.each(`select seq, id(promotion_id), entity_id, phase from promotion order by seq`, func(scan func(...any)) {
		var p Promotion
		scan(&p.Seq, scanID{&p.ID}, &p.Entity, &p.Phase)
		f.Promotions = append(f.Promotions, p)
	})
	r.each(`select id(event_id), id(correlation_id) from error_event`, func(scan func(...any)) {
		var e EventRow
		scan(scanID{&e.ID}, scanID{&e.Correlation})
		f.Events = append(f.Events, e)
	})
	r.each(`select seq, what, number, coalesce(holder, ''), us(at) from chaos_term order by seq`, func(scan func(...any)) {
		var t TermEntry
		scan(&t.Seq, &t.What, &t.Number, &t.Holder, scanTime{&t.At})
		f.Terms = append(f.Terms, t)
	})
}

func (r *reader) letters(f *Final) {
	r.each(`select id(error_id), id(work_id), step, round, num(closed_at is not null),
		(select count(*) from dead_letter_round r where r.error_id = l.error_id) from dead_letter l`, func(scan func(...any)) {
		var l Letter
		scan(scanID{&l.ErrorID}, scanID{&l.WorkID}, &l.Step, &l.Round, &l.Closed, &l.Rounds)
		f.Letters = append(f.Letters, l)
	})
	r.each(`select id(error_id), step, coalesce(note, '') from dead_letter_note where error_id is not null`, func(scan func(...any)) {
		var n Note
		scan(scanID{&n.ErrorID}, &n.Step, &n.Text)
		f.Notes = append(f.Notes, n)
	})
	// A replay that another one overtook is refused and stays without members, for the audit.
	r.each(`select id(replay_id), reason, state from replay r
		where state <> 'DONE' or exists (select 1 from replay_item i where i.replay_id = r.replay_id)`, func(scan func(...any)) {
		var p ReplayRow
		scan(scanID{&p.ID}, &p.Reason, &p.State)
		f.Replays = append(f.Replays, p)
	})
	r.each(`select id(work_id) from work`, func(scan func(...any)) {
		f.Works = append(f.Works, [16]byte{})
		scan(scanID{&f.Works[len(f.Works)-1]})
	})
}

func (r *reader) notices(f *Final) {
	r.each(`select id(notice_id), kind, recipient, id(error_id), num(delivered_at is not null), num(due_at is not null), attempts from outbox`, func(scan func(...any)) {
		var n Notice
		scan(scanID{&n.ID}, &n.Kind, &n.To, scanID{&n.ErrorID}, &n.Delivered, &n.Waiting, &n.Attempts)
		f.Notices = append(f.Notices, n)
	})
}

func (r *reader) ranges(f *Final) {
	if !r.database.Postgres {
		return
	}
	r.each(`select stream, first_seq, last_seq from bus_range order by stream, first_seq, last_seq`, func(scan func(...any)) {
		var n Range
		scan(&n.Stream, &n.First, &n.Last)
		f.Ranges = append(f.Ranges, n)
	})
}
