package adoption

import "github.com/recoup-dev/recoup/server/internal/store/postgres"

// Blockers are the rows of adopted tables that have changed and that no node has looked at: until
// then they block their entities, as far as errors of their table do.
func Blockers() postgres.Blockers {
	return postgres.Blockers{Gate: unread, Refused: "select table_name, since from recoup.unread($1)"}
}

// unread is recoup.unread as a part of another statement: calling it would cost as much as the rest
// of that. Where nothing is adopted it is a look into an empty index.
func unread(entity string) string {
	hash := "hashtextextended(nullif(" + entity + `, '') collate "C", 0)`
	return `select a.table_name, c.at
		from ((select adoption_id, at from recoup.adopted_change where entities is not null and ` + hash + ` = any (entities) offset 0)
			union all
			select o.adoption_id, (select coalesce(max(at), now()) from recoup.adopted_change where adoption_id = o.adoption_id and change_id = e.change_id)
			from recoup.adoption o cross join lateral (select change_id from recoup.adopted_entity where hash = ` + hash + ` and adoption_id = o.adoption_id limit 1) e
			where exists (select from recoup.adopted_entity where hash = ` + hash + `)) c
		join recoup.adoption a on a.adoption_id = c.adoption_id and a.state <> 'RELEASING'
		where exists (select from recoup.error_table t where t.table_name = a.table_name and t.blocks and not t.retired) limit 1`
}
